// The inlined frames of a back-trace as a replay of the function around meets them: there their arguments are those of
// the call, which at the crash may be lost.
//
//   const auto inlined = InlinedFrames::Read(report, *symbols);
//   Result<Frame> frame = inlined->AtItsEntry(frames, position, registers, state, nullptr);
//   std::optional<Frame> plain = FrameAtItsEntry(report, *symbols, frames[position], registers, state);
#ifndef RECRASH_TESTGEN_SYMBOLS_INLINED_FRAMES_H_
#define RECRASH_TESTGEN_SYMBOLS_INLINED_FRAMES_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/failing_stack.h"
#include "testgen/symbols/stack/frame.h"
#include "testgen/symbols/symbols.h"
#include "testgen/symbols/twin.h"

namespace recrash {

// Can the frame be met where its call begins, and called there? What its arguments are is known there alone, of frames
// that are not inlined; of those that are, maybe. `twin`: there is a build that has a copy of each function.
bool CanBeMet(const Frame& frame, bool twin);

class InlinedFrames {
 public:
  // The report and the symbols must outlive it.
  static Result<InlinedFrames> Read(const Report& report, const Symbols& symbols);

  // Returns frames[position] with its arguments and its call as they are where it was met: `met` has the registers at
  // Frame::inlined_at and then at some of Frame::inlined_later, `state` the memory. What is lost there comes from
  // `twin`, if that is not null: it stands at the function's first instruction, in a replay of the same outer frame.
  // kRefused: an argument is not known. REQUIRES: `frames` are those of the report's back-trace.
  Result<Frame> AtItsEntry(const std::vector<Frame>& frames, size_t position, std::span<const Registers> met,
                           const EntryState& state, Twin* twin) const;

 private:
  InlinedFrames(const Report& report, const Symbols& symbols, std::unique_ptr<FailingStack> stack)
      : report_(&report), symbols_(&symbols), stack_(std::move(stack)) {}

  const Report* report_;
  const Symbols* symbols_;
  std::unique_ptr<FailingStack> stack_;
};

// The same for a frame that is not inlined, from the registers at its function's first instruction.
std::optional<Frame> FrameAtItsEntry(const Report& report, const Symbols& symbols, const Frame& frame,
                                     const Registers& met, const EntryState& state);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_INLINED_FRAMES_H_
