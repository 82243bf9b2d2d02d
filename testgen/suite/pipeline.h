// The two halves of `recrash reproduce`, which `generate` and `verify` are on their own.
#ifndef RECRASH_INTEGRATIONS_CLI_PIPELINE_H_
#define RECRASH_INTEGRATIONS_CLI_PIPELINE_H_

#include <string>
#include <vector>

#include "agent/base/result.h"
#include "integrations/cli/commands.h"
#include "testgen/suite/suite.h"
#include "testgen/verify/verify.h"

namespace recrash::cli {

// Reads the report, finds its frames, makes the folder ready; writes nothing into it.
Result<Suite> MakeSuite(const GenerateArguments& arguments);

// What was not verified, or did not reproduce, is there to be read.
Status WriteCandidates(const Suite& suite);

// Runs the suite's program again and puts that run, with the memory of its frames at their entries, in the place of the
// report. Where that cannot be, the suite stays as it is, and a note says why.
void Rerun(double seconds, Suite* suite);

// Replays all frames of the suite; then those that did not reproduce, or all, from entry states that are derived, where
// the options say so and the program is the build that crashed. What a frame reproduces from is in the suite's report
// then.
Result<std::vector<FrameVerdict>> ReplayFrames(Suite* suite, const VerifyOptionsGiven& options, bool same_build);

struct Verification {
  std::vector<FrameVerdict> verdicts;
  std::vector<uint32_t> kept;      // frames that have a test now, innermost first
  std::vector<std::string> notes;  // one sentence each, for the user
};

// Replays the suite's frames; keeps those that reproduce, builds them, and drops what is not red then. When none
// reproduces, or when the program is not the build that crashed, the folder is left as it is; with `candidates`, it
// gets the candidates.
Result<Verification> Verify(Suite* suite, const VerifyOptionsGiven& options, bool candidates = false);

// Prints the table and the summary, writes --json; returns the exit code.
int ReportVerification(const Suite& suite, const Verification& verification, const VerifyOptionsGiven& options);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_PIPELINE_H_
