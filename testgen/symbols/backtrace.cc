#include "testgen/symbols/backtrace.h"

#include <algorithm>
#include <iterator>

#include "testgen/symbols/bad_value.h"
#include "testgen/symbols/dwarf/plain_function.h"
#include "testgen/symbols/failing_stack.h"
#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/frame_builder.h"
#include "testgen/symbols/place_copies.h"
#include "testgen/symbols/source_chain.h"
#include "testgen/symbols/stack/code_info.h"
#include "testgen/symbols/stack/handlers.h"
#include "testgen/symbols/stack/unwind.h"

namespace recrash {
namespace {

// Finds the innermost frame of the program's own. A replay compares its failing place with this one.
Place FindPlace(const std::vector<Frame>& frames, std::span<const UnwoundFrame> stack, CodeReader& code) {
  Place place;
  for (const Frame& frame : frames) {
    if (!frame.own || frame.inlined) continue;
    // People look at the innermost inlined call, so its line is taken, unless it lies in the system's headers.
    const auto first = std::find_if(frames.begin(), frames.end(), [&](const Frame& f) {
      return f.pc == frame.pc && (!f.inlined || !f.file.starts_with("/usr/"));
    });
    place.function = frame.linkage_name;
    place.file = first->file;
    place.line = first->line;
    const auto unwound = std::ranges::find(stack, frame.pc, &UnwoundFrame::lookup_pc);
    place.pc = unwound == stack.end() ? frame.pc : unwound->pc;
    place.function_start = frame.entry;
    if (const auto& range = code.At(frame.pc).range) place.function_size = range->size;
    return place;
  }
  return place;
}

// From each end, candidates or not: people look at these.
constexpr size_t kAlwaysDescribed = 50;

// Describes an unwound stack from both ends, until enough frames are candidates.
class Describer {
 public:
  Describer(const UnwoundStack& unwound, std::span<const uint8_t> fxsave, std::span<const EntryState> states,
            FrameBuilder& builder, CodeReader& code)
      : unwound_(unwound),
        inner_{unwound.inner, fxsave, states},
        outer_{unwound.outer, {}, states},
        builder_(builder),
        code_(code) {}

  void Describe(size_t max_candidates, Backtrace& backtrace);

 private:
  size_t size() const { return unwound_.inner.size() + unwound_.outer.size(); }
  const UnwoundFrame& At(size_t i) const;
  std::vector<Frame> FramesAt(size_t i);
  // The number of frames at an address: the function, and the calls inlined there.
  uint64_t CountAt(TargetAddress pc) { return std::max<size_t>(code_.At(pc).live.size(), 1); }
  uint64_t CountSkipped(size_t begin, size_t end);

  const UnwoundStack& unwound_;
  Stack inner_, outer_;
  FrameBuilder& builder_;
  CodeReader& code_;
};

const UnwoundFrame& Describer::At(size_t i) const {
  const size_t inner = unwound_.inner.size();
  return i < inner ? unwound_.inner[i] : unwound_.outer[i - inner];
}

std::vector<Frame> Describer::FramesAt(size_t i) {
  const size_t inner = unwound_.inner.size();
  std::vector<Frame> frames;
  builder_.Append(i < inner ? inner_ : outer_, i < inner ? i : i - inner, frames);
  return frames;
}

uint64_t Describer::CountSkipped(size_t begin, size_t end) {
  uint64_t count = 0;
  for (size_t i = begin; i < end; ++i) count += CountAt(At(i).lookup_pc());
  for (const auto& [pc, times] : unwound_.skipped) count += times * CountAt(pc);
  return count;
}

void Describer::Describe(size_t max_candidates, Backtrace& backtrace) {
  size_t begin = 0, end = size(), candidates = 0;
  const auto count = [&](const std::vector<Frame>& frames) {
    candidates += static_cast<size_t>(std::ranges::count_if(frames, &Frame::candidate));
  };
  const size_t inner_candidates = max_candidates - max_candidates / 2;
  for (; begin < end && (candidates < inner_candidates || begin < kAlwaysDescribed); ++begin) {
    std::vector<Frame> frames = FramesAt(begin);
    count(frames);
    std::ranges::move(frames, std::back_inserter(backtrace.frames));
  }
  std::vector<std::vector<Frame>> outer;
  candidates = 0;
  while (begin < end && (candidates < max_candidates / 2 || outer.size() < kAlwaysDescribed)) {
    outer.push_back(FramesAt(--end));
    count(outer.back());
  }
  backtrace.skipped = static_cast<uint32_t>(std::min<uint64_t>(CountSkipped(begin, end), UINT32_MAX));
  const size_t inner_count = backtrace.frames.size();
  for (auto frames = outer.rbegin(); frames != outer.rend(); ++frames)
    std::ranges::move(*frames, std::back_inserter(backtrace.frames));
  for (size_t i = 0; i < backtrace.frames.size(); ++i)
    backtrace.frames[i].index = static_cast<uint32_t>(i) + (i < inner_count ? 0 : backtrace.skipped);
}

// An exception that leaves a frame goes to the callers, the inner ones first. A call that was inlined shares the
// handlers of the function around it.
void FindHandlers(const Report& report, ModuleSet& modules, std::vector<Frame>& frames) {
  HandlerReader reader(modules);
  std::vector<std::string> caught;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    frame->caught = caught;
    if (frame->inlined || (CountsCaughtInMain(report.failure) && frame->function == "main")) continue;
    const Handlers here = reader.At(frame->pc);
    if (here.ends) caught.clear();
    for (const std::string& type : here.types)
      if (std::ranges::find(caught, type) == caught.end()) caught.push_back(type);
  }
}

std::vector<SourceFrame> SourceChain(const UnwoundStack& unwound, CodeReader& code) {
  SourceChainReader reader(code);
  for (const UnwoundFrame& frame : unwound.inner) reader.Add(frame.pc, frame.exact || frame.is_signal_frame);
  for (const UnwoundFrame& frame : unwound.outer) reader.Add(frame.pc, frame.exact || frame.is_signal_frame);
  return reader.functions();
}

// Of the function whose line the place has; 0 if the chain begins with another one, which left no frame.
uint32_t DeclaredLine(const Backtrace& backtrace) {
  const Place& place = backtrace.place;
  const auto frame = std::ranges::find_if(backtrace.frames, [&](const Frame& f) {
    return f.own && f.file == place.file && f.line == place.line && !place.chain.empty() &&
           SourceName(f.function) == place.chain.front().function;
  });
  return frame == backtrace.frames.end() ? 0 : frame->declared_line;
}

}  // namespace

Result<Backtrace> ReadBacktrace(const Report& report, const Symbols& symbols) {
  if (!report.snapshots) return ReadBacktrace(report, symbols, {});
  return ReadBacktrace(report, symbols, report.snapshots->states);
}

Result<Backtrace> ReadBacktrace(const Report& report, const Symbols& symbols, std::span<const EntryState> states) {
  const Result<std::unique_ptr<FailingStack>> stack = UnwindFailingStack(report, symbols);
  if (!stack) return stack.error();
  const UnwoundStack& unwound = (*stack)->unwound;
  FrameBuilder builder(symbols.code(), (*stack)->unwinder, (*stack)->memory, symbols.modules());
  Backtrace backtrace;
  Describer(unwound, (*stack)->fxsave, states, builder, symbols.code())
      .Describe(symbols.options().max_candidates, backtrace);
  MarkBadValues(report, backtrace.frames);
  FindHandlers(report, symbols.modules(), backtrace.frames);
  backtrace.place = FindPlace(backtrace.frames, unwound.inner, symbols.code());
  backtrace.place.chain = SourceChain(unwound, symbols.code());
  backtrace.place.declared = DeclaredLine(backtrace);
  backtrace.place.copies = FindPlaceInCopies(backtrace.frames, symbols.code());
  backtrace.around = ReadSurroundings(report, symbols, (*stack)->memory, backtrace.place, builder.renderer());
  backtrace.notes = symbols.modules().notes();
  for (const std::string& note : unwound.notes) backtrace.notes.push_back(note);
  return backtrace;
}

}  // namespace recrash
