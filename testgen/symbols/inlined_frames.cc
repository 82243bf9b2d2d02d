#include "testgen/symbols/inlined_frames.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "agent/report/pages.h"
#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/frame_builder.h"

namespace recrash {
namespace {

// The frames from that of the function around on, outwards; empty if it is not among them.
std::span<const UnwoundFrame> From(const std::vector<UnwoundFrame>& all, TargetAddress pc, TargetAddress cfa) {
  const auto found =
      std::ranges::find_if(all, [&](const UnwoundFrame& frame) { return frame.cfa == cfa && frame.lookup_pc() == pc; });
  return {found, all.end()};
}

// The frame of the function around, at an instruction of the inlined call.
struct MetFrame {
  MetFrame(std::span<const UnwoundFrame> crashed, const Registers& registers)
      : frames(crashed.begin(), crashed.end()), stack{frames, registers.fxsave, {}} {
    frames[0].registers = RegisterFile(registers);
    frames[0].pc = {registers.pc()};
    frames[0].exact = true;
  }
  MetFrame(const MetFrame&) = delete;

  std::vector<UnwoundFrame> frames;
  Stack stack;
  std::optional<ValueReader> values;
};

// System V ABI, by DWARF's numbers; in an fxsave area the vector registers begin at 160.
EntryRegisters ArgumentRegisters(const Registers& met, const Frame& frame) {
  const auto& all = met.dwarf;
  EntryRegisters registers = {
      {all[5], all[4], all[1], all[2], all[8], all[9]}, {}, frame.entry.value, frame.entry_sp.value};
  constexpr size_t kVectors = 160;
  if (met.fxsave.size() >= kVectors + sizeof registers.vector)
    memcpy(registers.vector, met.fxsave.data() + kVectors, sizeof registers.vector);
  return registers;
}

}  // namespace

bool CanBeMet(const Frame& frame, bool twin) {
  const bool is_entered = frame.entry.value != 0 && frame.entry_sp.value != 0 && !frame.is_signal_frame;
  if (!frame.inlined) return is_entered && frame.own && frame.declared_line != 0 && !frame.candidate;
  return frame.inlined && frame.inlined_at.value != 0 && (twin || frame.entry.value != 0) && frame.entry_sp.value != 0;
}

Result<InlinedFrames> InlinedFrames::Read(const Report& report, const Symbols& symbols) {
  Result<std::unique_ptr<FailingStack>> stack = UnwindFailingStack(report, symbols);
  if (!stack) return stack.error();
  return InlinedFrames(report, symbols, *std::move(stack));
}

std::optional<Frame> InlinedFrames::AtItsEntry(const std::vector<Frame>& frames, size_t position,
                                               std::span<const Registers> met, const EntryState& state) const {
  const auto around = std::find_if(frames.begin() + static_cast<ptrdiff_t>(position), frames.end(),
                                   [](const Frame& frame) { return !frame.inlined; });
  if (around == frames.end()) return std::nullopt;
  const TargetAddress cfa = around->entry_sp + 8;
  std::span<const UnwoundFrame> crashed = From(stack_->unwound.inner, around->pc, cfa);
  if (crashed.empty()) crashed = From(stack_->unwound.outer, around->pc, cfa);
  if (crashed.empty()) return std::nullopt;

  const Pages pages = PagesOf(*report_, state);
  ReportMemory memory = stack_->memory;
  memory.OverlayPages(&pages);
  Unwinder unwinder(symbols_->modules(), memory);
  std::deque<MetFrame> stood;
  std::vector<ValueReader*> readers;
  for (const Registers& registers : met) {
    MetFrame& frame = stood.emplace_back(crashed, registers);
    readers.push_back(&frame.values.emplace(symbols_->code(), unwinder, memory, frame.stack, 0));
  }
  const bool is_innermost = crashed.data() == stack_->unwound.inner.data();
  const Stack at_crash{crashed, is_innermost ? stack_->fxsave : std::span<const uint8_t>(), {}};
  ValueReader last(symbols_->code(), stack_->unwinder, stack_->memory, at_crash, 0);
  readers.push_back(&last);
  Frame frame = frames[position];
  FrameBuilder builder(symbols_->code(), unwinder, memory, symbols_->modules());
  if (!builder.CallFromItsEntry(readers, crashed[0], frame)) return std::nullopt;
  frame.candidate = frame.entry.value != 0;
  frame.twin_candidate = frame.entry.value == 0;
  frame.why_not.clear();
  return frame;
}

std::optional<Frame> FrameAtItsEntry(const Report& report, const Symbols& symbols, const Frame& frame,
                                     const Registers& met, const EntryState& state) {
  EntryState entered = state;
  entered.registers = ArgumentRegisters(met, frame);
  const Result<Backtrace> backtrace = ReadBacktrace(report, symbols, {&entered, 1});
  if (!backtrace) return std::nullopt;
  const auto found = std::ranges::find(backtrace->frames, frame.index, &Frame::index);
  if (found == backtrace->frames.end() || !found->candidate || found->entry != frame.entry) return std::nullopt;
  return *found;
}

}  // namespace recrash
