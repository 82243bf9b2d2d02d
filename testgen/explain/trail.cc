#include "testgen/explain/trail.h"

#include <signal.h>

#include <algorithm>
#include <array>

#include "agent/base/printable_text.h"

namespace recrash::explain {
namespace {

constexpr int kMostCallers = 6;       // upwards, for what decided
constexpr uint32_t kDeepest = 2;      // conditions of conditions
constexpr int kMostReuseChecks = 2;   // each follows a pointer to its beginning
constexpr uint64_t kNear = 4096;      // an access lies so near to the pointer that it came from
constexpr uint64_t kSmall = 1 << 20;  // numbers up to it are shown in decimal
constexpr uint32_t kLinesAround = 3;  // of the source, before and after a link's

constexpr std::array kArgumentRegisters = {kRdi, kRsi, kRdx, kRcx, uint8_t{8}, uint8_t{9}};

bool IsKeptByCallees(uint8_t reg) { return reg == 3 || reg == kRsp || reg == kRbp || (reg >= 12 && reg < 16); }

bool IsResult(uint8_t reg) { return reg == kRax || reg == kRdx || reg == kFirstVector; }

std::string ValueText(uint64_t value, uint32_t size, bool is_address = false) {
  if (is_address) return value == 0 ? "null" : HexNumber(value);
  if (size < 8) value &= (1ull << (8 * size)) - 1;
  const auto is_negative = size >= 4 && (value >> (8 * size - 1) & 1) != 0;
  const int64_t number = size == 4 ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
  if (is_negative && number > -static_cast<int64_t>(kSmall)) return std::to_string(number);
  return value < kSmall ? std::to_string(value) : HexNumber(value);
}

// "memset" for __memset_avx512_unaligned_erms, "malloc" for __libc_malloc.
std::string PublicName(std::string function) {
  for (const char* before : {"__GI_", "__libc_", "__"})
    if (function.starts_with(before)) function.erase(0, std::string(before).size());
  for (const char* behind : {"_avx", "_evex", "_sse", "_ssse", "_unaligned", "_erms"})
    if (const size_t at = function.find(behind); at != function.npos && at > 0) function.resize(at);
  return function;
}

// Functions that copy bytes from the second argument to the first.
bool Copies(const std::string& function) {
  static constexpr std::array kNames = {"memcpy", "memmove", "mempcpy", "strcpy", "strncpy", "stpcpy", "strcat"};
  return std::ranges::any_of(kNames, [&](const char* name) { return function.find(name) != function.npos; });
}

bool Compares(const std::string& function) { return function.find("cmp") != function.npos; }

// Up to the end of the text, and not much of it.
std::string Quoted(const std::string& bytes) {
  constexpr size_t kMost = 40;
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  return "\"" + bytes.substr(0, std::min(end, kMost)) + (end > kMost ? "…\"" : "\"");
}

bool Frees(const std::string& function) {
  return function.find("free") != function.npos || function.find("tcache_put") != function.npos ||
         function.starts_with("operator delete");
}

bool Allocates(const std::string& function) {
  return function.find("alloc") != function.npos || function.starts_with("operator new");
}

// Where the instruction writes, and how much.
Extent WrittenBy(const TraceStep& step) {
  const CodeInstruction& code = *step.code;
  if (code.kind == CodeKind::kPush || code.kind == CodeKind::kCall) return {step.before.rsp - 8, 8};
  for (const CodeOperand& operand : code.operands) {
    if (operand.kind != CodeOperand::kMemory || !operand.is_written) continue;
    if (code.kind != CodeKind::kString) return {AddressOf(step.before, operand), operand.size};
    return {step.before.rdi, operand.size * (code.repeats ? step.before.rcx : 1)};
  }
  return {};
}

std::string InputText(const TracedValue& value, const Written& write, const std::string& function) {
  const Extent filled = FilledBy(write.stack.registers);
  if (!filled.Overlaps(value.address, value.size)) return "written by the kernel, called by " + function;
  return "byte " + std::to_string(value.address - filled.address + 1) + " of " + std::to_string(filled.size) +
         " that " + function + " read" + write.source;
}

bool IsScaling(const CodeInstruction& code) {
  return code.text.starts_with("shl") || code.text.starts_with("sal") || code.text.starts_with("imul");
}

}  // namespace

bool Trail::is_full() const { return links_.size() >= most_links_ || std::chrono::steady_clock::now() > deadline_; }

void Trail::AddAt(LinkKind kind, uint64_t pc, const std::string& text, uint32_t depth) {
  const SourceSpot spot = source_.At(pc);
  Link link{kind, spot.function, spot.file, spot.line, text, source_.Line(spot), depth};
  link.around = source_.Around(spot, kLinesAround);
  links_.push_back(std::move(link));
}

void Trail::Add(LinkKind kind, const CallPtr& call, size_t step, const std::string& text, uint32_t depth) {
  uint64_t pc = calls_.TraceOf(call).steps[step].code->pc;
  CallPtr at = call;
  while (source_.At(pc).function.empty()) {
    const auto [caller, caller_step] = calls_.CallerOf(at);
    if (!caller) break;
    at = caller;
    pc = calls_.TraceOf(caller).steps[caller_step].code->pc;
  }
  AddAt(kind, pc, text, depth);
}

void Trail::AddExperiment(const Experiment& experiment) {
  if (links_.empty()) return;
  links_.back().experiment = static_cast<int32_t>(experiments_.size());
  experiments_.push_back(experiment);
}

void Trail::AddOnStack(LinkKind kind, const std::vector<StackCall>& stack, const std::string& text, uint32_t depth) {
  const auto is_own = [&](const StackCall& call) { return !source_.At(call.pc).function.empty(); };
  const auto own = std::ranges::find_if(stack, is_own);
  if (own != stack.end()) AddAt(kind, own->pc, text, depth);
}

// A function of the program's own that ended in a jump to the one that failed has no frame.
std::pair<CallPtr, size_t> Trail::InnermostOwn(CallPtr call) {
  for (;;) {
    const std::vector<TraceStep>& steps = calls_.TraceOf(call).steps;
    const auto own = std::find_if(steps.rbegin(), steps.rend(),
                                  [&](const TraceStep& step) { return !source_.At(step.code->pc).function.empty(); });
    if (own == steps.rend()) return {call, steps.size() - 1};
    const auto last = static_cast<size_t>(steps.rend() - own) - 1;
    if (own->has_returned || !source_.IsOwnModule(own->callee)) return {call, last};
    const CallPtr called = calls_.CalledAt(call, last);
    if (!called || calls_.TraceOf(called).steps.empty()) return {call, last};
    call = called;
  }
}

void Trail::Begin(const CallPtr& innermost) {
  const auto [failing, last] = InnermostOwn(innermost);
  if (!failing) return;
  Add(LinkKind::kFailed, failing, last, "failed here", 0);
  const std::vector<TraceStep>& steps = calls_.TraceOf(failing).steps;
  const bool is_in_callee = last + 1 < steps.size() || source_.EntryOf(steps[last].callee) != 0;
  if (is_in_callee) return FromLibrary(failing, last);
  FromFault(failing, last);
}

Trail::Next Trail::WorseOf(const CallPtr& call, size_t step, const CodeOperand& memory) const {
  const user_regs_struct& before = calls_.TraceOf(call).steps[step].before;
  const bool base_is_good = memory.base == kNone || memory.base == kRsp || IsMapped(ValueOf(before, memory.base));
  const uint8_t reg = memory.index != kNone && base_is_good ? memory.index : memory.base;
  if (reg == kNone || reg == kRsp) return std::nullopt;
  return TracedValue{call, step, reg};
}

// The failing instruction is the program's own.
void Trail::FromFault(const CallPtr& failing, size_t last) {
  const TraceStep& step = calls_.TraceOf(failing).steps[last];
  if (failure_.signal == SIGFPE) {
    for (const CodeOperand& operand : step.code->operands) {
      if (operand.is_hidden || !operand.is_read) continue;
      if (const Next value = FromOperand({failing, last}, last, operand, 0)) return Follow(*value, 0);
    }
    return;
  }
  if (step.code->kind == CodeKind::kStop) return Control(failing, last, 0);
  if (step.code->kind == CodeKind::kReturn) return Follow({failing, last, kNone, 0, step.before.rsp, 8}, 0);
  if (step.code->kind == CodeKind::kString) {
    const bool is_source = !IsMapped(step.before.rsi);
    return Follow({failing, last, is_source ? kRsi : kRdi}, 0);
  }
  if (const CodeOperand* memory = step.code->Memory()) {
    const bool is_jump_to =
        step.callee == 0 && step.code->kind == CodeKind::kCall && IsMapped(AddressOf(step.before, *memory));
    if (is_jump_to) return Follow({failing, last, kNone, 0, AddressOf(step.before, *memory), 8}, 0);
    if (const Next value = WorseOf(failing, last, *memory)) return Follow(*value, 0);
    return;
  }
  if (const CodeOperand* source = step.code->Source())
    if (const Next value = FromOperand({failing, last}, last, *source, 0)) Follow(*value, 0);
}

// It failed in a function that is none of the program's own, or threw, or aborted.
void Trail::FromLibrary(const CallPtr& failing, size_t last) {
  const TraceStep& step = calls_.TraceOf(failing).steps[last];
  const uint64_t fault = failure_.address.value;
  const bool is_fault = failure_.signal == SIGSEGV || failure_.signal == SIGBUS;
  if (is_fault)
    for (const uint8_t reg : kArgumentRegisters) {
      const uint64_t value = ValueOf(step.before, reg);
      if (std::min(fault - value, value - fault) < kNear) return Follow({failing, last, reg}, 0);
    }
  const std::string function =
      source_.FunctionAt(step.callee != 0 ? step.callee : calls_.TraceOf(failing).steps.back().code->pc);
  if (Frees(function)) {
    const TracedValue freed{failing, last, kRdi};
    AddFree({failing, last, kNone, 0, ValueOf(step.before, kRdi), 8}, 0);
    return Follow(freed, 0);
  }
  Control(failing, last, 0);
}

void Trail::Follow(TracedValue value, uint32_t depth) {
  while (!is_full()) {
    kept_.insert(value.call);
    const uint64_t where = value.reg == kNone ? value.address : value.offset;
    if (!seen_.insert({value.call.get(), value.step, value.reg, where}).second) return;
    const Next next = BackFrom(value, depth);
    if (!next) return;
    value = *next;
  }
}

Trail::Next Trail::BackFrom(const TracedValue& value, uint32_t depth) {
  return value.reg == kNone ? BackFromMemory(value, depth) : BackFromRegister(value, depth);
}

Trail::Next Trail::BackFromRegister(const TracedValue& value, uint32_t depth) {
  const Trace& trace = calls_.TraceOf(value.call);
  for (size_t i = value.step; i-- > 0;) {
    const TraceStep& step = trace.steps[i];
    if (step.code->kind == CodeKind::kCall && step.has_returned) {
      if (IsResult(value.reg)) return Returned(value, i, depth);
      if (!IsKeptByCallees(value.reg)) return Lost(value.call, i, "a call left a value in a register", depth);
    } else if (step.code->Writes(value.reg)) {
      return MadeBy(value, i, depth);
    }
  }
  return Argument(value, depth);
}

Trail::Next Trail::BackFromMemory(const TracedValue& value, uint32_t depth) {
  if (IsNoPlace(value, depth)) return FromPointer(value);
  if (IsReused(value, depth)) return std::nullopt;
  const Trace& trace = calls_.TraceOf(value.call);
  for (size_t i = value.step; i-- > 0;) {
    const TraceStep& step = trace.steps[i];
    if (WrittenBy(step).Overlaps(value.address, value.size)) return MadeBy(value, i, depth);
    if (step.code->kind == CodeKind::kCall) break;
  }
  return WrittenBefore(value, depth);
}

Trail::Next Trail::FromOperand(const TracedValue& value, size_t step, const CodeOperand& operand, uint32_t depth) {
  const user_regs_struct& before = calls_.TraceOf(value.call).steps[step].before;
  if (operand.kind == CodeOperand::kImmediate)
    return Constant(value.call, step, static_cast<uint64_t>(operand.immediate), depth);
  if (operand.kind == CodeOperand::kRegister) {
    if (operand.reg == kNone) return std::nullopt;
    return TracedValue{value.call, step, operand.reg, value.offset, 0, std::min(value.size, operand.size)};
  }
  const uint64_t address = AddressOf(before, operand) + value.offset;
  const bool base_is_good = operand.index == kNone || !IsMapped(ValueOf(before, operand.index));
  const uint8_t through = base_is_good && operand.base != kNone ? operand.base : operand.index;
  return TracedValue{value.call, step, kNone, 0, address, std::min<uint32_t>(value.size, std::max(operand.size, 1U)),
                     through};
}

Trail::Next Trail::MadeBy(const TracedValue& value, size_t step, uint32_t depth) {
  const TraceStep& at = calls_.TraceOf(value.call).steps[step];
  const CodeInstruction& code = *at.code;
  TracedValue from = value;
  // Of a wide store to memory, the part that is asked for.
  if (const Extent written = WrittenBy(at); value.reg == kNone && written.size > 8 && value.address > written.address)
    from.offset = static_cast<uint32_t>(value.address - written.address);
  switch (code.kind) {
    case CodeKind::kMove:
    case CodeKind::kPush:
    case CodeKind::kMask: {
      const CodeOperand* source = code.kind == CodeKind::kMask ? &code.operands.front() : code.Source();
      return source ? FromOperand(from, step, *source, depth) : std::nullopt;
    }
    case CodeKind::kPop:
      return TracedValue{value.call, step, kNone, 0, at.before.rsp, 8};
    case CodeKind::kClear:
      return Constant(value.call, step, 0, depth);
    case CodeKind::kSet:
      ByFlags(value.call, step, depth);
      return std::nullopt;
    case CodeKind::kChoose:
      return Chosen(value, step, depth);
    case CodeKind::kAddress:
      return FromAddress(value, step, depth);
    case CodeKind::kString:
      if (code.text.find("movs") == code.text.npos) return TracedValue{value.call, step, kRax};
      if (value.reg != kNone) return std::nullopt;
      return TracedValue{value.call, step, kNone, 0, at.before.rsi + (value.address - at.before.rdi), value.size};
    case CodeKind::kCall:
      return std::nullopt;
    default:
      return Computed(value, step, depth);
  }
}

// cmov: the register has the source now, or what it had.
Trail::Next Trail::Chosen(const TracedValue& value, size_t step, uint32_t depth) {
  const Trace& trace = calls_.TraceOf(value.call);
  const TraceStep& at = trace.steps[step];
  const user_regs_struct& after = step + 1 < trace.steps.size() ? trace.steps[step + 1].before : trace.after;
  const bool has_moved = ValueOf(after, value.reg) != ValueOf(at.before, value.reg);
  Add(LinkKind::kComputed, value.call, step, has_moved ? "chosen here" : "left as it was here", depth);
  ByFlags(value.call, step, depth + 1);
  const CodeOperand* source = at.code->Source();
  if (has_moved && source) return FromOperand(value, step, *source, depth);
  return TracedValue{value.call, step, value.reg, value.offset, 0, value.size};
}

// In a condition, an address that is a good one: the question is which object it is, and not where that lies.
bool Trail::IsChosenObject(const TracedValue& value, uint32_t depth) const { return depth > 0 && IsGoodAddress(value); }

bool Trail::IsGoodAddress(const TracedValue& value) const {
  if (value.reg >= kFirstVector) return false;  // also where there is none
  const Trace& trace = calls_.TraceOf(value.call);
  const user_regs_struct& at = value.step < trace.steps.size() ? trace.steps[value.step].before : trace.after;
  return IsMapped(ValueOf(at, value.reg));
}

Trail::Next Trail::Why(const CallPtr& call, size_t step, uint32_t depth) {
  Control(call, step, depth);
  return std::nullopt;
}

Trail::Next Trail::FromAddress(const TracedValue& value, size_t step, uint32_t depth) {
  const TraceStep& at = calls_.TraceOf(value.call).steps[step];
  for (const CodeOperand& operand : at.code->operands) {
    if (operand.kind != CodeOperand::kMemory) continue;
    const bool is_local = operand.index == kNone && (operand.base == kRsp || operand.base == kRbp);
    if (operand.index == kNone && (operand.base == kNone || is_local)) {
      Add(LinkKind::kAddress, value.call, step,
          is_local ? "the address of a local variable" : "the address of a global", depth);
      return std::nullopt;
    }
    const Next worse = WorseOf(value.call, step, operand);
    return worse && IsChosenObject(*worse, depth) ? Why(value.call, step, depth) : worse;
  }
  return std::nullopt;
}

Trail::Next Trail::Computed(const TracedValue& value, size_t step, uint32_t depth) {
  const TraceStep& at = calls_.TraceOf(value.call).steps[step];
  std::vector<TracedValue> from;
  for (const CodeOperand& operand : at.code->operands) {
    if (!operand.is_read || operand.kind == CodeOperand::kImmediate) continue;
    if (operand.kind == CodeOperand::kRegister && (operand.reg == kNone || operand.reg == kRsp)) continue;
    if (const Next next = FromOperand(value, step, operand, depth)) from.push_back(*next);
  }
  if (!IsScaling(*at.code)) Add(LinkKind::kComputed, value.call, step, "computed here", depth);
  if (from.empty()) return std::nullopt;
  // A good address, and what was added to it.
  if (depth == 0 && from.size() > 1)
    std::ranges::sort(from, {}, [&](const TracedValue& operand) { return IsGoodAddress(operand); });
  if (depth == 0 && IsGoodAddress(from.back()) && !IsGoodAddress(from.front())) from.resize(1);
  if (from.size() == 1 && IsChosenObject(from.front(), depth)) return Why(value.call, step, depth);
  for (size_t i = 1; i < from.size() && !only_value_; ++i) Follow(from[i], depth + 1);
  return from.front();
}

Trail::Next Trail::Constant(const CallPtr& call, size_t step, uint64_t constant, uint32_t depth) {
  const uint32_t size = constant > UINT32_MAX && constant < static_cast<uint64_t>(INT64_MIN) ? 8 : 4;
  const std::string value = constant == 0 ? "0" : ValueText(constant, size);
  Add(LinkKind::kConstant, call, step, "the constant " + value, depth);
  links_.back().value = value;
  return Why(call, step, depth + 1);
}

Trail::Next Trail::Argument(const TracedValue& value, uint32_t depth) {
  if (value.reg == kRsp || value.reg == kRbp) return std::nullopt;
  if (IsChosenObject({value.call, 0, value.reg}, depth)) return std::nullopt;
  const auto [caller, step] = calls_.CallerOf(value.call);
  const std::string callee = source_.FunctionAt(value.call->entry);
  if (!caller) {
    AddAt(LinkKind::kBefore, value.call->entry, "it was so when " + callee + " was called", depth);
    return std::nullopt;
  }
  const uint64_t passed = ValueOf(calls_.TraceOf(caller).steps[step].before, value.reg);
  const SourceOf::Passed parameter = source_.ParameterIn(value.call->entry, value.reg);
  // Inside library code the value only passes through.
  if (!source_.At(calls_.TraceOf(caller).steps[step].code->pc).function.empty()) {
    std::string text = parameter.name.empty() ? RegisterText(value.reg) : parameter.name;
    if (value.reg < kFirstVector) text += " = " + ValueText(passed, value.size, parameter.is_address);
    Add(LinkKind::kArgument, caller, step, callee + " was called with " + text, depth);
    if (value.reg < kFirstVector) links_.back().value = text;
  }
  return TracedValue{caller, step, value.reg, value.offset, 0, value.size};
}

Trail::Next Trail::Returned(const TracedValue& value, size_t step, uint32_t depth) {
  const Trace& trace = calls_.TraceOf(value.call);
  const TraceStep& at = trace.steps[step];
  const user_regs_struct& after = step + 1 < trace.steps.size() ? trace.steps[step + 1].before : trace.after;
  const bool is_own = source_.IsOwnModule(at.callee);
  const std::string function = is_own ? source_.FunctionAt(at.callee) : PublicName(source_.FunctionAt(at.callee));
  if (!is_own && Allocates(function)) {
    Add(LinkKind::kAllocated, value.call, step, "allocated here", depth);
    if (depth == 0) allocation_ = {value.call, step};
    return std::nullopt;
  }
  const std::string returned =
      value.reg >= kFirstVector ? ""
                                : ValueText(ValueOf(after, value.reg), value.size, source_.ReturnsAddress(at.callee));
  if (!source_.At(at.code->pc).function.empty()) {
    Add(LinkKind::kReturned, value.call, step,
        (function.empty() ? "a call" : function) + " returned" + (returned.empty() ? "" : " ") + returned, depth);
    links_.back().value = returned;
    if (value.reg == kRax) AddExperiment({value.call, step, 0, after.rax});
  }
  if (!is_own) return Compared(function, value, step, depth);
  const CallPtr called = calls_.CalledAt(value.call, step);
  if (!called) return std::nullopt;
  const Trace& inner = calls_.TraceOf(called);
  if (inner.end != Trace::kReturned)
    return Lost(value.call, step, "the call could not be replayed step by step", depth);
  return TracedValue{called, inner.steps.size(), value.reg, value.offset, 0, value.size};
}

// memcmp and its like: what they were given decides. dynamic_cast: the class of the object, by its vtable.
Trail::Next Trail::Compared(const std::string& function, const TracedValue& value, size_t step, uint32_t depth) {
  const user_regs_struct& before = calls_.TraceOf(value.call).steps[step].before;
  if (function == "dynamic_cast") return TracedValue{value.call, step, kNone, 0, before.rdi, 8, kRdi};
  if (!Compares(function)) return std::nullopt;
  std::array<uint64_t, 2> at = {before.rdi, before.rsi};
  const auto texts = calls_.TextsAt(value.call, step, at);
  if (!texts) return std::nullopt;
  const auto& [first, second] = *texts;
  size_t same = 0;
  while (same < first.size() && same < second.size() && first[same] == second[same]) ++same;
  Add(LinkKind::kDecided, value.call, step, "compared " + Quoted(first) + " with " + Quoted(second), depth);
  Follow({value.call, step, kNone, 0, at[0] + same, 1}, depth);
  return TracedValue{value.call, step, kNone, 0, at[1] + same, 1};
}

Trail::Next Trail::CopiedBy(const std::string& function, const TracedValue& value, const Calls::Writer& writer,
                            uint32_t depth) {
  const CallPtr copy = calls_.CallOf(writer, 0);
  const auto [caller, step] = copy ? calls_.CallerOf(copy) : std::pair<CallPtr, size_t>();
  if (!caller) return Lost(value.call, value.step, function + " wrote it, from where is not known", depth);
  const user_regs_struct& before = calls_.TraceOf(caller).steps[step].before;
  Add(LinkKind::kWritten, caller, step, "written by " + function, depth);
  const uint64_t into = value.address - before.rdi;
  return TracedValue{caller, step, kNone, 0, before.rsi + into, value.size};
}

Trail::Next Trail::WrittenBefore(const TracedValue& value, uint32_t depth) {
  uint32_t size = 8;
  while (size > 1 && (size > value.size || value.address % size != 0)) size /= 2;
  const Result<std::optional<Calls::Writer>> found =
      calls_.LastWriter(value.address, size, calls_.MomentOf(value.call, value.step));
  if (!found) {
    return Lost(value.call, value.step, found.error().message, depth);
  }
  if (!*found) return NeverWritten(value, depth);
  const Calls::Writer& writer = **found;
  if (writer.stack.empty()) return Lost(value.call, value.step, "who wrote it is not known", depth);
  if (IsLeftOver(value, writer)) return LeftOver(value, writer, depth);
  const bool is_own = source_.IsOwnModule(writer.stack.front().pc);
  std::string function = source_.FunctionAt(writer.stack.front().pc);
  if (!is_own) function = PublicName(function);
  if (writer.write.by_kernel) {
    AddOnStack(LinkKind::kInput, writer.stack, InputText(value, writer.write, function), depth);
    return std::nullopt;
  }
  if (!is_own) {
    if (Frees(function)) {
      AddFrees(writer, "freed here; " + function + " wrote over it", depth);
      return std::nullopt;
    }
    if (Allocates(function)) {
      AddOnStack(LinkKind::kAllocated, writer.stack, "allocated here, and not written since", depth);
      return std::nullopt;
    }
    if (Copies(function)) return CopiedBy(function, value, writer, depth);
    AddOnStack(LinkKind::kWritten, writer.stack, "written by " + function, depth);
    return std::nullopt;
  }
  const CallPtr call = calls_.CallOf(writer, 0);
  if (!call || calls_.TraceOf(call).steps.empty()) {
    AddOnStack(LinkKind::kWritten, writer.stack, "written by " + function, depth);
    return std::nullopt;
  }
  const size_t step = calls_.TraceOf(call).steps.size() - 1;
  Add(LinkKind::kWritten, call, step, "written here", depth);
  TracedValue made = value;
  made.call = call;
  return MadeBy(made, step, depth);
}

Trail::Next Trail::FromPointer(const TracedValue& value) const {
  return TracedValue{value.call, value.step, value.through};
}

bool Trail::IsNoPlace(const TracedValue& value, uint32_t depth) {
  if (depth > 0 || value.through == kNone || value.through == kRsp || value.through == kRbp) return false;
  const AddressKind kind = addresses_.KindOf(TargetAddress{value.address});
  if (!kind.is_bad()) return false;
  Add(LinkKind::kLies, value.call, value.step, "the value lies " + kind.clause, depth);
  if (kind.kind == AddressKind::kFreedBlock) AddFree(value, depth);
  return true;
}

bool Trail::IsReused(const TracedValue& value, uint32_t depth) {
  const bool is_pointed_to = value.through != kNone && value.through != kRsp && value.through != kRbp;
  if (depth > 0 || !is_pointed_to || reuse_checks_ >= kMostReuseChecks) return false;
  const auto block = heap_.BlockAt(TargetAddress{value.address});
  if (!block) return false;
  ++reuse_checks_;
  std::vector<Link> links = std::move(links_);
  links_.clear();
  auto seen = seen_;
  allocation_.reset();
  only_value_ = true;
  Follow(*FromPointer(value), 0);
  only_value_ = false;
  const auto made = allocation_;
  const auto freed =
      made ? calls_.FreedBetween(block->start.value + sizeof(uint64_t), calls_.MomentOf(made->first, made->second),
                                 calls_.MomentOf(value.call, value.step), Frees)
           : std::nullopt;
  std::swap(links, links_);
  if (!freed) {
    seen_ = std::move(seen);
    return false;
  }
  Add(LinkKind::kLies, value.call, value.step, "the value lies in a block that was freed, and has another owner now",
      0);
  AddFrees(*freed, "freed here, a block of " + std::to_string(block->size) + " bytes", 0);
  links_.insert(links_.end(), links.begin(), links.end());
  return true;
}

// Where it was freed, and who asked for that.
void Trail::AddFrees(const Calls::Writer& writer, const std::string& text, uint32_t depth) {
  LinkKind kind = LinkKind::kFreed;
  for (size_t i = 0; i < writer.stack.size(); ++i) {
    if (source_.At(writer.stack[i].pc).function.empty()) continue;
    AddAt(kind, writer.stack[i].pc, kind == LinkKind::kFreed ? text : "called here", depth);
    if (kind == LinkKind::kCalled) return;
    kind = LinkKind::kCalled;
    const CallPtr call = calls_.CallOf(writer, i);
    if (!call || calls_.TraceOf(call).steps.empty()) continue;
    const size_t last = calls_.TraceOf(call).steps.size() - 1;
    const CodeInstruction& code = *calls_.TraceOf(call).steps[last].code;
    if (code.kind == CodeKind::kCall) AddExperiment({call, last, code.next()});
  }
}

// free() marks a block in its second word, or else chains it by its first.
void Trail::AddFree(const TracedValue& value, uint32_t depth) {
  const auto block = heap_.BlockAt(TargetAddress{value.address});
  if (!block) return;
  for (const uint64_t word : {uint64_t{8}, uint64_t{0}}) {
    const auto writer = calls_.LastWriter(block->start.value + word, 8, calls_.MomentOf(value.call, value.step));
    if (!writer || !*writer || (*writer)->stack.empty()) continue;
    if (!Frees(source_.FunctionAt((*writer)->stack.front().pc))) continue;
    AddFrees(**writer, "freed here, a block of " + std::to_string(block->size) + " bytes", depth);
    return;
  }
}

Trail::Next Trail::NeverWritten(const TracedValue& value, uint32_t depth) {
  const bool is_pointed_to = value.through != kNone && value.through != kRsp && value.through != kRbp;
  if (!is_pointed_to && calls_.IsOnStack(value.address)) {
    Add(LinkKind::kUninitialised, value.call, value.step, "a local variable that nothing was written to", depth);
    return std::nullopt;
  }
  if (is_pointed_to) {
    if (const auto block = heap_.BlockAt(TargetAddress{value.address})) {
      const auto header = calls_.LastWriter(block->start.value - 8, 8, calls_.MomentOf(value.call, value.step));
      if (header && *header) {
        Add(LinkKind::kUninitialised, value.call, value.step,
            "memory that nothing was written to since it was allocated", depth);
        AddOnStack(LinkKind::kAllocated, (*header)->stack,
                   "allocated here, a block of " + std::to_string(block->size) + " bytes", depth);
        return std::nullopt;
      }
    }
  }
  const Mapping* mapping = memory_.report().FindMapping(TargetAddress{value.address});
  if (mapping && (mapping->flags & kMapWrite) == 0)
    Add(LinkKind::kConstant, value.call, value.step, "a constant of the program", depth);
  else
    Add(LinkKind::kBefore, value.call, value.step, "it was so before what was replayed began", depth);
  return is_pointed_to ? FromPointer(value) : std::nullopt;
}

bool Trail::IsLeftOver(const TracedValue& value, const Calls::Writer& writer) const {
  if (!calls_.IsOnStack(value.address)) return false;
  const auto owner =
      std::ranges::find_if(writer.stack, [&](const StackCall& call) { return value.address <= call.sp; });
  return owner != writer.stack.end() && owner->entry != 0 && !calls_.IsLive(value.call, *owner);
}

Trail::Next Trail::LeftOver(const TracedValue& value, const Calls::Writer& writer, uint32_t depth) {
  const bool is_pointed_to = value.through != kNone && value.through != kRsp && value.through != kRbp;
  if (!is_pointed_to) {
    Add(LinkKind::kUninitialised, value.call, value.step, "a local variable that nothing was written to", depth);
    return std::nullopt;
  }
  Add(LinkKind::kLies, value.call, value.step,
      "the value lies in a dead local, and was left there by " + source_.FunctionAt(writer.stack.front().pc), depth);
  return FromPointer(value);
}

Trail::Next Trail::Lost(const CallPtr& call, size_t step, const std::string& why, uint32_t depth) {
  Add(LinkKind::kLost, call, step, "not followed further: " + why, depth);
  return std::nullopt;
}

void Trail::Control(CallPtr call, size_t step, uint32_t depth) {
  if (depth > kDeepest || only_value_) return;
  for (int own = 0; own < kMostCallers && !is_full();) {
    if (DecidedIn(call, step, depth)) return;
    const auto [caller, caller_step] = calls_.CallerOf(call);
    if (!caller) return;
    if (!source_.At(calls_.TraceOf(caller).steps[caller_step].code->pc).function.empty()) {
      Add(LinkKind::kCalled, caller, caller_step, "called here", depth);
      ++own;
    }
    call = caller;
    step = caller_step;
  }
}

bool Trail::DecidedIn(const CallPtr& call, size_t step, uint32_t depth) {
  const Trace& trace = calls_.TraceOf(call);
  const uint64_t pc = trace.steps[step].code->pc;
  const CodeGraph* graph = source_.GraphAround(pc);
  for (size_t i = step; i-- > 0;) {
    const CodeInstruction& code = *trace.steps[i].code;
    if (code.kind != CodeKind::kBranch) continue;
    if (graph && !graph->Decides(code.pc, trace.steps[i + 1].code->pc, pc)) continue;
    kept_.insert(call);
    const size_t first = links_.size();
    ByFlags(call, i, depth);
    const auto target = static_cast<uint64_t>(code.operands.front().immediate);
    const uint64_t taken = trace.steps[i + 1].code->pc;
    if (links_.size() > first && links_[first].kind == LinkKind::kDecided) {
      links_[first].experiment = static_cast<int32_t>(experiments_.size());
      experiments_.push_back({call, i, taken == target ? code.next() : target});
    }
    return true;
  }
  return false;
}

// What the flags were made of that the instruction at the step reads.
void Trail::ByFlags(const CallPtr& call, size_t step, uint32_t depth) {
  if (only_value_) return;
  const Trace& trace = calls_.TraceOf(call);
  for (size_t i = step; i-- > 0;) {
    const CodeInstruction& code = *trace.steps[i].code;
    if (code.kind == CodeKind::kCall) return;
    if (!code.writes_flags) continue;
    Add(LinkKind::kDecided, call, i, "this condition led there", depth);
    std::set<uint8_t> registers;
    for (const CodeOperand& operand : code.operands) {
      if (!operand.is_read || operand.is_hidden || operand.kind == CodeOperand::kImmediate) continue;
      if (operand.kind == CodeOperand::kRegister && !registers.insert(operand.reg).second) continue;
      if (const Next next = FromOperand({call, i}, i, operand, depth)) Follow(*next, depth);
    }
    return;
  }
}

}  // namespace recrash::explain
