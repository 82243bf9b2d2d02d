#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "agent/base/printable_text.h"
#include "testgen/suite/steps.h"
#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/symbols.h"
#include "testgen/verify/choose.h"

namespace recrash {
namespace {

// Which tests fail as recorded only as long as certain files are there; empty: none.
std::string NeededFilesText(const TestReport& report) {
  std::vector<uint32_t> needing;
  for (const ReplayFrame& frame : report.replay.frames)
    if (!frame.start.sealed) needing.push_back(frame.index);
  if (needing.empty()) return "";
  std::string text = fmt::format("tests of these frames need files of this machine: {}", fmt::join(needing, ", "));
  for (const Input& input : report.inputs)
    if (!input.held())
      text += fmt::format("\n{} is not in the report: {}", PrintableText(input.path), WhyNotHeld(input.content));
  return text;
}

}  // namespace

std::vector<ReplayFrame> FramesToKeep(const std::vector<ReplayFrame>& all, const std::vector<FrameVerdict>& verdicts,
                                      uint32_t runs) {
  std::vector<ReplayFrame> frames;
  for (const FrameVerdict& verdict : verdicts) {
    const auto found = std::ranges::find(all, verdict.index, &ReplayFrame::index);
    if (verdict.verdict != Verdict::kReproduced || verdict.runs < runs || found == all.end()) continue;
    frames.emplace_back(*found).start = verdict.start;
  }
  return ChooseTests(frames);
}

void Keep(std::vector<ReplayFrame> frames, ReplayData* replay) {
  replay->frames = std::move(frames);
  std::erase_if(replay->entry_states, [&](EntryState& state) {
    const auto frame = std::ranges::find(replay->frames, state.frame, &ReplayFrame::index);
    if (frame == replay->frames.end() || !frame->start.from_entry) return true;
    if (!state.arguments.empty()) frame->words = std::move(state.arguments);
    return false;
  });
}

Status LookAtEntries(Suite* suite) {
  std::optional<Symbols> symbols;
  for (ReplayFrame& frame : suite->report.replay.frames) {
    const EntryState* state = suite->report.replay.FindEntryState(frame.index);
    const auto described = std::ranges::find(suite->backtrace.frames, frame.index, &Frame::index);
    if (frame.dangling.empty() || !frame.start.from_entry || !state || described == suite->backtrace.frames.end())
      continue;
    if (!symbols) {
      Result<Symbols> opened = Symbols::Open(suite->report, suite->symbols);
      if (!opened) return opened.error();
      symbols = *std::move(opened);
    }
    frame.dangling = DanglingAtItsEntry(suite->report, *symbols, *described, *state);
  }
  return Ok{};
}

void Discern(const VerifyOptions& options, Suite* suite, Observer* observer) {
  Pointers pointers;
  for (const Frame& frame : suite->backtrace.frames)
    for (const Parameter& parameter : frame.parameters)
      if (parameter.type.is_address() || parameter.indirect) pointers[frame.index].insert(parameter.number);
  Result<std::vector<AlreadyThere>> found = FindAlreadyThere(&suite->report, pointers, options);
  if (found) {
    suite->already_there = *std::move(found);
  } else {
    observer->Note("not known which frames began with what makes them fail: " + found.error().message);
  }
}

std::vector<std::string> NotesOnKept(const TestReport& report, const std::vector<FrameVerdict>& verdicts) {
  std::vector<std::string> notes;
  const size_t kept = report.replay.frames.size();
  const auto all = std::ranges::count(verdicts, Verdict::kReproduced, &FrameVerdict::verdict);
  if (kept < static_cast<size_t>(all))
    notes.push_back(fmt::format("{} frames of a recursion reproduce: {} have a test, at most {} of each function", all,
                                kept, kTestsOfAFunction));
  if (std::string needed = NeededFilesText(report); !needed.empty()) notes.push_back(std::move(needed));
  return notes;
}

std::string UnstableText(const std::vector<FrameVerdict>& verdicts) {
  std::vector<uint32_t> unstable;
  for (const FrameVerdict& verdict : verdicts)
    if (verdict.verdict == Verdict::kUnstable) unstable.push_back(verdict.index);
  if (unstable.empty()) return "";
  return fmt::format("these frames reproduce in some runs only, and have no test: {}", fmt::join(unstable, ", "));
}

}  // namespace recrash
