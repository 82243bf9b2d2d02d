// From a crash to tests that fail as the program did:
//
//   Load → Describe → Replay → Derive → Keep → Emit → Build → Check
//
//   Request request;
//   request.report = "greeter-1.rcr";
//   request.program = "./greeter";
//   Result<Outcome> outcome = MakeTests(request, &observer);  // greeter-1-tests/build/crash_test
#ifndef RECRASH_TESTGEN_SUITE_PIPELINE_H_
#define RECRASH_TESTGEN_SUITE_PIPELINE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "testgen/suite/folder.h"
#include "testgen/suite/observer.h"
#include "testgen/suite/steps.h"
#include "testgen/verify/verify.h"

namespace recrash {

enum class Goal {
  kCandidates,  // a test for each frame that can be called, none replayed
  kSource,      // tests of the frames that reproduce the crash, not built
  kTests,       // the same, built, and seen to fail as the program did
  kFrames,      // the frames that reproduce; nothing is written (FindReproduced)
};

// For which frames an entry state is derived where none was recorded.
enum class Derive { kNeeded, kAll, kNone };

struct Request {
  std::filesystem::path report;  // empty: the tests in `folder` are verified once more
  std::filesystem::path folder;  // empty: REPORT-tests in the current folder
  std::string program;           // empty: the one that the report or the folder names
  std::string twin;              // a build of the same sources without inlining; empty: that of the folder, or none
  std::vector<std::string> search_paths;
  Goal goal = Goal::kTests;
  bool trust_report = false;  // as if it had been written here by this user (code_files.h)
  bool sandbox = true;
  bool inputs = true;                 // take input files of today that are as at the crash, if the report is our own
  bool format = true;                 // the source by the project's clang-format
  bool force = false;                 // use a folder that holds other files
  std::optional<RerunRequest> rerun;  // run the program again, and use that crash
  uint32_t max_frames = 200;          // of the stack, half from each end
  double seconds_per_frame = 10;
  uint32_t runs = 3;       // in which a frame has to reproduce
  uint32_t jobs = 0;       // replays at a time; 0: as many as there are processors
  bool same_bases = true;  // false: modules lie elsewhere, as under a debugger
  Derive derive = Derive::kNeeded;
  bool replaced = false;  // tests of the exception that a handler caught and replaced, in place of the last one's
};

struct Outcome {
  Suite suite;
  bool whole_stack = true;             // false: suite.backtrace has only the frames that have tests
  std::vector<FrameVerdict> verdicts;  // ascending by frame
  std::vector<uint32_t> kept;          // frames that have a test now, innermost first
  std::vector<std::string> notes;      // one sentence each, for the user
  bool replaced_exception = false;     // the report has an exception that a handler replaced
};

// If a handler replaced an exception by the one that ended the program, the folder gets a second one, `replaced`: tests
// of the frames that were live at the first throw only. A note says so.
//
// When no frame reproduces, a new folder gets the candidates, and one that was made before stays as it is. So does one
// that is verified against another build than the one that crashed.
Result<Outcome> MakeTests(const Request& request, Observer* observer);

// The frames that reproduce, with what a replay of each needs, in Suite::report.replay: of request.report, or of the
// tests in request.folder as they were verified. Writes nothing. kMissing: there is none.
Result<Suite> FindReproduced(Request request, Observer* observer);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_PIPELINE_H_
