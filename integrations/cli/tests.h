// What generate, verify, reproduce, debug, why and minimise share: the pipeline at a terminal.
#ifndef RECRASH_INTEGRATIONS_CLI_TESTS_H_
#define RECRASH_INTEGRATIONS_CLI_TESTS_H_

#include "agent/base/result.h"
#include "integrations/cli/commands.h"

namespace recrash::cli {

// MakeTests of the report that is named, with notes and progress on stderr.
Result<Outcome> MakeTestsOf(const ReportArguments& report, Request request);

// FindReproduced for the report, or the folder of tests, that is named.
Result<Suite> FramesOf(const ReportArguments& target, Request request);

// How the frames of a suite are replayed.
VerifyOptions ReplaysOf(const Suite& suite);

// Prints the table and the summary, writes --json; returns the exit code.
int ReportOutcome(const Outcome& outcome, bool built, const std::string& json);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_TESTS_H_
