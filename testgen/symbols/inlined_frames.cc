#include "testgen/symbols/inlined_frames.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "agent/report/pages.h"
#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/frame_builder.h"
#include "testgen/symbols/twin.h"

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

constexpr uint64_t kPageSize = 4096;

// The pages to which the call writes arguments and objects, with these.
std::map<uint64_t, std::vector<uint8_t>> PagesWithStack(const Frame& frame, const ReportMemory& memory) {
  std::map<uint64_t, std::vector<uint8_t>> pages;
  for (const ReplayWord& word : frame.words) {
    if (word.location != abi::Location::kStack) continue;
    for (size_t i = 0; i < word.size; ++i) {
      const TargetAddress at = frame.entry_sp + 8 + word.stack_offset + i;
      const uint64_t offset = at.value % kPageSize;
      std::vector<uint8_t>& page = pages[at.value - offset];
      if (page.empty()) {
        page.resize(kPageSize);
        memory.Read(at - offset, page);
      }
      page[offset] = word.bytes[i];
    }
  }
  return pages;
}

// What is live where an inlined call begins, from that call out to the frame that was entered at `outer_sp`.
class Chain {
 public:
  Chain(CodeReader& code, Unwinder& unwinder, const ReportMemory& memory, const MetFrame& met)
      : code_(code), unwinder_(unwinder), memory_(memory), met_(met) {}

  // Empty if the stack does not lead there.
  std::vector<ChainLink> From(const Frame& inlined, TargetAddress outer_sp) {
    std::vector<ChainLink> links;
    for (size_t i = 0; i < met_.frames.size(); ++i) {
      ValueReader& values = readers_.emplace_back(code_, unwinder_, memory_, met_.stack, i);
      // The calls around are inlined at the crash as they were here.
      const CodeInfo& code = i == 0 ? code_.At(inlined.pc) : values.code();
      for (const LiveFunction& function : code.live)
        if (!links.empty() || BeginsAt(function, code, inlined)) links.push_back({&function, &values});
      if (met_.frames[i].cfa == outer_sp + 8) return links;
    }
    return {};
  }

 private:
  static bool BeginsAt(const LiveFunction& function, const CodeInfo& code, const Frame& inlined) {
    Dwarf_Die die = function.die;
    const auto begin = function.inlined ? DebugInfo::EntryOf(die) : std::nullopt;
    return begin && *begin + code.module->bias() == inlined.inlined_at.value &&
           function.linkage_name == inlined.linkage_name;
  }

  CodeReader& code_;
  Unwinder& unwinder_;
  const ReportMemory& memory_;
  const MetFrame& met_;
  std::deque<ValueReader> readers_;
};

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

Result<Frame> InlinedFrames::AtItsEntry(const std::vector<Frame>& frames, size_t position,
                                        std::span<const Registers> met, const EntryState& state, Twin* twin) const {
  const Error not_there{Errc::kRefused, "the frame around it is not among those of the crash"};
  const auto around = std::find_if(frames.begin() + static_cast<ptrdiff_t>(position), frames.end(),
                                   [](const Frame& frame) { return !frame.inlined; });
  if (around == frames.end() || met.empty()) return not_there;
  const TargetAddress cfa = around->entry_sp + 8;
  std::span<const UnwoundFrame> crashed = From(stack_->unwound.inner, around->pc, cfa);
  if (crashed.empty()) crashed = From(stack_->unwound.outer, around->pc, cfa);
  if (crashed.empty()) return not_there;

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
  Chain chain(symbols_->code(), unwinder, memory, stood.front());
  std::unique_ptr<TwinArguments> others;
  const auto outer = std::ranges::find(frames, state.outer, &Frame::index);
  if (twin && outer != frames.end()) {
    Result<std::unique_ptr<TwinArguments>> matched =
        TwinArguments::Match(*twin, outer->entry_sp, chain.From(frame, outer->entry_sp), memory, symbols_->modules());
    if (!matched) return matched.error();
    others = *std::move(matched);
  }
  if (!builder.CallFromItsEntry(readers, crashed[0], others.get(), frame)) return Error{Errc::kRefused, frame.why_not};
  const std::map<uint64_t, std::vector<uint8_t>> written = PagesWithStack(frame, memory);
  Pages with_call = pages;
  for (const auto& [page, bytes] : written) with_call[page] = bytes.data();
  memory.OverlayPages(&with_call);
  builder.ShowArguments(*readers.front(), crashed[0], frame);
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
