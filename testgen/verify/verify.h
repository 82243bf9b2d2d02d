// Replays frames, each in a process of its own, and says what became of each.
#ifndef RECRASH_TESTGEN_VERIFY_VERIFY_H_
#define RECRASH_TESTGEN_VERIFY_VERIFY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "recrash/replay.h"
#include "testgen/replay/host/code_files.h"

namespace recrash {

struct VerifyOptions {
  std::string program;  // build to replay against
  // Build for frames whose function is inlined in the program and has no copy there; empty: they are not replayed.
  std::string twin;
  bool sandbox = true;
  CodeSources code;  // beside it
  double seconds_per_frame = 10;
  uint64_t memory_limit = 4ull << 30;
  bool allow_same_bases = true;   // false: plain ASLR and rebasing, as under a debugger
  uint32_t max_frames = 200;      // half from each end
  std::vector<uint32_t> only;     // of these, those with such a ReplayFrame::index; empty: all
  bool from_entry = false;        // from their entry states alone, which they have
  uint32_t runs = 3;              // replays that a reproduced frame stands on; 1: none but the first
  uint32_t jobs = 0;              // replays at a time; 0: as many as there are processors for this process
  std::string support_directory;  // of librecrash_replay.so; empty: that of the installation
};

// "timed out": the word for the verdict in tables, JSON and notes.
const char* VerdictText(Verdict verdict);

struct FrameVerdict {
  uint32_t index = 0;  // ReplayFrame::index
  Verdict verdict = Verdict::kCannotReplay;
  Start start;                                // whose outcome this is
  std::optional<uint32_t> derived_from = {};  // with start.from_entry: the frame whose replay gave the entry state
  uint32_t runs = 1;                          // replays that the verdict stands on
  double seconds = 0;
  std::string note;  // what happened instead, one line

  // A test of the frame needs no files but the report.
  bool self_contained() const {
    return start.sealed && (verdict == Verdict::kReproduced || verdict == Verdict::kUnstable);
  }
};

// Replays each frame from the Starts that starts.h says, until one reproduces. `progress`
// is called with (done, all). Verdicts come in the order of the frames, and are the same whatever options.jobs is.
//
// What reproduced is replayed again just so, each time in another start of the subject, until options.runs replays are
// made; if one of them did not reproduce, the frame is kUnstable. Of a deep recursion only the frames that ChooseTests
// takes: the others keep runs = 1 and are not to become tests.
Result<std::vector<FrameVerdict>> VerifyFrames(const TestReport& report, const VerifyOptions& options,
                                               const std::function<void(size_t, size_t)>& progress);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_VERIFY_H_
