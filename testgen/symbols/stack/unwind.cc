#include "testgen/symbols/stack/unwind.h"

#include <dwarf.h>
#include <stdlib.h>

#include <algorithm>
#include <span>

#include "agent/base/printable_text.h"
#include "shadowstack/abi.h"

namespace recrash {
namespace {

constexpr int kRbp = 6;
constexpr int kRsp = 7;
constexpr int kRip = 16;
// An 8 MB stack holds half a million of the smallest frames (16 bytes). Stack limits may be larger than that.
constexpr uint64_t kMaxSteps = 16'000'000;

// `register + offset`, as libdw gives the usual CFA.
std::optional<CfaRule> AsBaseAndOffset(const Dwarf_Op* ops, size_t count) {
  if (count != 1) return std::nullopt;
  if (ops[0].atom == DW_OP_bregx) return CfaRule{static_cast<int>(ops[0].number), static_cast<int64_t>(ops[0].number2)};
  if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31)
    return CfaRule{ops[0].atom - DW_OP_breg0, static_cast<int64_t>(ops[0].number)};
  return std::nullopt;
}

// rbx, rbp, r12 to r15.
bool IsPreservedByCalls(int number) { return number == 3 || number == 6 || (number >= 12 && number <= 15); }

}  // namespace

Unwinder::Rule Unwinder::ReadRule(Dwarf_Frame* frame, int number) {
  Rule rule;
  Dwarf_Op storage[3];
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_register(frame, number, storage, &ops, &count) != 0) return rule;
  if (count == 0) {
    // A function leaves a register alone if it does not mention it and calls preserve it. A register that calls do not
    // preserve may be anything by now. libdw has it the other way round for rbx and rax.
    rule.kind = IsPreservedByCalls(number) ? Rule::Kind::kSame : Rule::Kind::kUndefined;
    return rule;
  }
  const bool is_value = ops[count - 1].atom == DW_OP_stack_value;
  const size_t length = is_value ? count - 1 : count;
  const bool from_cfa = length >= 1 && ops[0].atom == DW_OP_call_frame_cfa;
  if (from_cfa && (length == 1 || (length == 2 && ops[1].atom == DW_OP_plus_uconst))) {
    rule.kind = is_value ? Rule::Kind::kCfaPlus : Rule::Kind::kAtCfa;
    rule.offset = length == 2 ? static_cast<int64_t>(ops[1].number) : 0;
    return rule;
  }
  rule.kind = Rule::Kind::kExpression;
  rule.ops.assign(ops, ops + count);
  return rule;
}

bool Unwinder::ReadRow(Dwarf_CFI* cfi, uint64_t address, Row& row) {
  Dwarf_Frame* frame = nullptr;
  if (cfi == nullptr || dwarf_cfi_addrframe(cfi, address, &frame) != 0) return false;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  dwarf_frame_info(frame, nullptr, nullptr, &row.is_signal);
  if (dwarf_frame_cfa(frame, &ops, &count) == 0 && count > 0) {
    if (const auto simple = AsBaseAndOffset(ops, count))
      row.cfa = *simple;
    else
      row.cfa_ops.assign(ops, ops + count);
    for (int i = 0; i < abi::kRegisterCount; ++i) row.registers.push_back(ReadRule(frame, i));
    row.valid = true;
  }
  free(frame);
  return row.valid;
}

Unwinder::Row Unwinder::ReadRow(TargetAddress pc) {
  Row row;
  LoadedModule* module = modules_.Find(pc);
  if (module == nullptr) return row;
  const uint64_t address = pc.value - module->bias();
  if (ReadRow(module->image->eh_frame(), address, row)) return row;
  for (const auto& file : module->files)
    if (ReadRow(file->debug_frame(), address, row)) break;
  return row;
}

const Unwinder::Row& Unwinder::RowAt(TargetAddress pc) {
  const auto known = rows_.find(pc.value);
  return known != rows_.end() ? known->second : rows_.emplace(pc.value, ReadRow(pc)).first->second;
}

std::optional<CfaRule> Unwinder::CfaAt(TargetAddress pc) {
  const Row& row = RowAt(pc);
  return row.valid && row.cfa_ops.empty() ? std::optional(row.cfa) : std::nullopt;
}

std::optional<TargetAddress> Unwinder::Cfa(const Row& row, const RegisterFile& registers) const {
  if (!row.cfa_ops.empty()) {
    ExpressionContext context;
    context.memory = &memory_;
    context.registers = &registers;
    const auto cfa = EvaluateNumber(row.cfa_ops.data(), row.cfa_ops.size(), context);
    return cfa ? std::optional(TargetAddress{*cfa}) : std::nullopt;
  }
  const auto base = registers.Get(static_cast<uint64_t>(row.cfa.base));
  return base ? std::optional(TargetAddress{*base + row.cfa.offset}) : std::nullopt;
}

std::optional<uint64_t> Unwinder::Recover(const Rule& rule, int number, TargetAddress cfa,
                                          const RegisterFile& registers) const {
  switch (rule.kind) {
    case Rule::Kind::kUndefined:
      return std::nullopt;
    case Rule::Kind::kSame:
      return registers.Get(static_cast<uint64_t>(number));
    case Rule::Kind::kAtCfa:
      return memory_.ReadWord(cfa + rule.offset);
    case Rule::Kind::kCfaPlus:
      return (cfa + rule.offset).value;
    case Rule::Kind::kExpression:
      break;
  }
  ExpressionContext context;
  context.memory = &memory_;
  context.registers = &registers;
  context.cfa = cfa;
  const auto location = EvaluateLocation(rule.ops.data(), rule.ops.size(), context);
  if (!location) return std::nullopt;
  const auto bytes = ReadLocation(*location, 8, context);
  return bytes ? std::optional(ToUnsigned(*bytes)) : std::nullopt;
}

bool Unwinder::IsCode(TargetAddress address) {
  LoadedModule* module = modules_.Find(address);
  if (module == nullptr) return false;
  const ElfLoad* load = module->image->LoadAt(address.value - module->bias());
  return load != nullptr && load->executable;
}

// There is no information for this pc. In the innermost frame, the program may have called through a null or wild
// pointer: then nothing ran after the call, and the return address still lies at rsp. (The PLT stubs of lld have no
// information either.) In an outer frame only a frame pointer can help.
std::optional<UnwoundFrame> Unwinder::StepWithoutCfi(const UnwoundFrame& frame, bool innermost) {
  const auto sp = frame.registers.sp();
  UnwoundFrame caller;
  caller.registers = frame.registers;
  if (innermost && sp) {
    const auto target = memory_.ReadWord(*sp);
    if (target && IsCode({*target})) {
      caller.pc = {*target};
      caller.registers.Set(kRsp, (*sp + 8).value);
      caller.registers.Set(kRip, *target);
      return caller;
    }
  }
  const auto base = frame.registers.Get(kRbp);
  if (!base || !sp || *base < sp->value || *base % 8 != 0) return std::nullopt;
  const auto target = memory_.ReadWord({*base + 8});
  const auto outer_base = memory_.ReadWord({*base});
  if (!target || !outer_base || !IsCode({*target})) return std::nullopt;
  RegisterFile registers;  // what the unknown function saved, and where, is not known
  registers.Set(kRbp, *outer_base);
  registers.Set(kRsp, *base + 16);
  registers.Set(kRip, *target);
  caller.registers = registers;
  caller.pc = {*target};
  return caller;
}

// A patched entry jumps back to its prefix, and from there to its stub. A signal may come in between. The prefix has no
// call frame information, but registers and stack are still as at the entry.
bool Unwinder::IsEntryPrefix(TargetAddress pc) {
  constexpr size_t kJump = 5;  // what the patch writes over the prefix
  uint8_t rest[sizeof abi::kEntryPrefix - kJump];
  return memory_.Read(pc + kJump, rest) && std::ranges::equal(rest, std::span(abi::kEntryPrefix).subspan(kJump)) &&
         !RowAt(pc).valid && RowAt(pc + abi::kEntryPrefixSize).valid;
}

std::optional<UnwoundFrame> Unwinder::Step(UnwoundFrame& frame, bool innermost) {
  if (frame.exact && IsEntryPrefix(frame.pc)) frame.pc = frame.pc + abi::kEntryPrefixSize;
  // A return address may be the next function's first byte, so the row of the byte before it counts. This finds the
  // signal trampoline too: libc lets its information start one byte early.
  const Row& row = RowAt(frame.exact ? frame.pc : frame.pc - 1);
  if (!row.valid && !frame.exact && RowAt(frame.pc).valid) {
    // No call returns there. makecontext put this address here: it is the function that runs when the first function of
    // the context returns. The stack ends here. rbp is that of the code that made the context, so it is not followed.
    frame.exact = true;
    return std::nullopt;
  }
  if (!row.valid) {
    auto caller = StepWithoutCfi(frame, innermost);
    if (!caller && stopped_.empty()) stopped_ = "no call frame information for " + HexNumber(frame.pc.value);
    return caller;
  }
  frame.is_signal_frame = row.is_signal;
  const auto cfa = Cfa(row, frame.registers);
  if (!cfa) {
    stopped_ = "the frame at " + HexNumber(frame.pc.value) + " cannot be computed";
    return std::nullopt;
  }
  frame.cfa = *cfa;
  const auto sp = frame.registers.sp();
  if (sp && *cfa <= *sp && !row.is_signal) {
    stopped_ = "the frame at " + HexNumber(frame.pc.value) + " does not lead outwards";
    return std::nullopt;
  }
  UnwoundFrame caller;
  for (int i = 0; i < abi::kRegisterCount; ++i)
    if (const auto value = Recover(row.registers[i], i, *cfa, frame.registers)) caller.registers.Set(i, *value);
  const auto pc = caller.registers.pc();
  if (!pc) {
    // The outermost frame leaves its return address undefined on purpose. Otherwise the memory was not kept.
    if (row.registers[kRip].kind != Rule::Kind::kUndefined)
      stopped_ = "the stack at " + HexNumber(cfa->value - 8) + " was not kept";
    return std::nullopt;
  }
  if (pc->value == 0) return std::nullopt;
  caller.pc = *pc;
  caller.exact = row.is_signal;
  return caller;
}

UnwoundStack Unwinder::Walk(const RegisterFile& start, bool exact, size_t limit) {
  UnwoundStack stack;
  limit = std::max<size_t>(limit, 2);
  const size_t inner_limit = limit - limit / 2;
  std::deque<UnwoundFrame> outer;
  UnwoundFrame frame;
  frame.registers = start;
  frame.pc = start.pc().value_or(TargetAddress{});
  frame.exact = exact;
  uint64_t steps = 0;
  for (bool more = true; more && steps < kMaxSteps; ++steps) {
    const auto caller = Step(frame, steps == 0);
    if (stack.inner.size() < inner_limit) {
      stack.inner.push_back(frame);
    } else {
      outer.push_back(frame);
      if (outer.size() > limit / 2) {
        ++stack.skipped[outer.front().lookup_pc()];
        outer.pop_front();
      }
    }
    more = caller.has_value();
    if (more) frame = *caller;
  }
  stack.outer.assign(outer.begin(), outer.end());
  if (!stopped_.empty()) stack.notes.push_back("unwinding stopped: " + stopped_);
  return stack;
}

}  // namespace recrash
