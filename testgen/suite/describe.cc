#include <fmt/format.h>

#include <algorithm>

#include "agent/report/recorded_states.h"
#include "testgen/emit/failure_text.h"
#include "testgen/suite/steps.h"
#include "testgen/symbols/twin.h"
#include "testgen/verify/choose.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

Error NoCandidates(const Crash& crash) {
  std::string why = "none of its frames lies in the program's own code";
  for (const Frame& frame : crash.backtrace.frames) {
    if (!frame.own || frame.inlined || frame.why_not.empty()) continue;
    why = fmt::format("frame {} ({}): {}", frame.index, frame.function, frame.why_not);
    break;
  }
  return {Errc::kMissing,
          fmt::format("{}: needed a frame that can be called again, found none: {}\n"
                      "build the program with recrash-clang++, or with -g, so that debug information has the arguments",
                      crash.name, why)};
}

Error NoMemory(const Crash& crash) {
  const std::vector<std::string>& losses = crash.report.losses;
  const auto why = std::ranges::find_if(losses, [](const std::string& loss) { return loss.starts_with("all memory"); });
  return {Errc::kMissing, fmt::format("{}: needed the memory of the crash, found none{}", crash.name,
                                      why == losses.end() ? "" : "\nthe report is without " + *why)};
}

std::vector<ReplayFrame> Chosen(const std::vector<ReplayFrame>& frames, uint32_t most) {
  std::vector<ReplayFrame> chosen;
  for (const uint32_t position : ChooseFrames(frames.size(), most)) chosen.push_back(frames[position]);
  return chosen;
}

// Compilers number lambdas as they come to them, which depends on what is inlined.
void NameInTwin(const std::string& twin, const std::vector<std::string>& search_paths, Backtrace* backtrace) {
  const Result<Report> file = TwinFile(twin);
  const Result<std::unique_ptr<Twin>> opened =
      file ? Twin::Open(*file, {.program = twin, .search_paths = search_paths}) : file.error();
  for (const TwinEntry& entry : opened ? (*opened)->EntriesOf(backtrace->frames) : std::vector<TwinEntry>())
    std::ranges::find(backtrace->frames, entry.frame, &Frame::index)->name_in_twin = (*opened)->NameAt(entry.address);
}

std::string Absolute(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

}  // namespace

void AddFramesOfTwin(const Backtrace& backtrace, ReplayData* replay) {
  for (const Frame& frame : backtrace.frames)
    if (frame.twin_candidate) replay->frames.push_back(MakeReplayFrame(frame));
  std::ranges::sort(replay->frames, {}, &ReplayFrame::index);
}

Result<Suite> Describe(Crash crash, const std::string& twin) {
  if (crash.report.memory.empty()) return NoMemory(crash);
  if (!twin.empty()) NameInTwin(twin, crash.symbols.search_paths, &crash.backtrace);
  ReplayData replay = MakeReplayData(crash.backtrace, *crash.opened);
  if (!twin.empty()) AddFramesOfTwin(crash.backtrace, &replay);
  if (replay.frames.empty()) return NoCandidates(crash);
  replay.frames = Chosen(replay.frames, crash.symbols.max_candidates);

  Suite suite;
  suite.report_path = Absolute(crash.path);
  suite.report_bytes = crash.bytes;
  suite.report_name = crash.name;
  suite.is_own = crash.is_own;
  suite.symbols = crash.symbols;
  suite.named_program = Absolute(crash.symbols.program.empty() ? crash.report.process.program : crash.symbols.program);
  suite.program = crash.kept_program.empty() ? suite.named_program : crash.kept_program;
  if (!twin.empty()) suite.twin = Absolute(twin);
  suite.symbols.program = suite.program;
  for (std::string& path : suite.symbols.search_paths) path = Absolute(path);
  replay.entry_states = RecordedStates(crash.report, replay.frames);
  suite.report = {std::move(crash.report), std::move(replay)};
  suite.report.snapshots.reset();  // the folder gets the states of its frames alone
  // What people read in the report of the crash; no test needs it.
  suite.report.notes.clear();
  suite.report.logs.clear();
  suite.report.replaced.reset();  // its tests are those of a folder of their own
  suite.backtrace = std::move(crash.backtrace);
  suite.failure = FailureText(suite.report, suite.backtrace);
  return suite;
}

}  // namespace recrash
