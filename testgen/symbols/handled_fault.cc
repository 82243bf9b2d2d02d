#include "testgen/symbols/handled_fault.h"

#include <ucontext.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <optional>

#include "agent/base/readable_name.h"
#include "agent/base/signal_safe/register_order.h"
#include "testgen/symbols/files/report_memory.h"
#include "testgen/symbols/stack/unwind.h"

namespace recrash {
namespace {

// The kernel puts this on the stack for a handler, from the stack pointer of the signal trampoline on: its ucontext,
// which is shorter than the C library's, and then the siginfo.
constexpr uint64_t kContextSize = offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t);
constexpr size_t kFxsaveSize = 512;
constexpr uint64_t kWord = sizeof(uint64_t);

// The frames of what a handler calls may be large; the context lies beyond them.
constexpr uint64_t kMostSearched = 1 << 20;
constexpr size_t kMostUnwound = 4096;

struct Fault {
  Failure failure;
  Registers registers;
};

bool IsFaultSignal(uint64_t signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
}

// Returns the fault whose context lies at `address`, if there is one.
std::optional<Fault> FaultAt(const ReportMemory& memory, TargetAddress address) {
  siginfo_t info;
  gregset_t words;
  uint64_t fpu = 0;
  const auto read = [&](TargetAddress at, void* out, size_t size) {
    return memory.Read(at, {static_cast<uint8_t*>(out), size});
  };
  if (!read(address + kContextSize, &info, sizeof info) || !IsFaultSignal(static_cast<uint32_t>(info.si_signo)) ||
      info.si_code <= 0 ||  // not positive: sent by a process
      !read(address + offsetof(ucontext_t, uc_mcontext.gregs), words, sizeof words)) {
    return std::nullopt;
  }
  Fault fault;
  std::ranges::transform(kContextRegisters, fault.registers.dwarf.begin(), [&](int index) { return words[index]; });
  fault.registers.eflags = static_cast<uint64_t>(words[REG_EFL]);
  std::vector<uint8_t> fxsave(kFxsaveSize);
  if (read(address + offsetof(ucontext_t, uc_mcontext.fpregs), &fpu, sizeof fpu) && fpu &&
      read({fpu}, fxsave.data(), fxsave.size())) {
    fault.registers.fxsave = std::move(fxsave);
  }
  fault.failure.kind = FailureKind::kSignal;
  fault.failure.signal = info.si_signo;
  fault.failure.code = info.si_code;
  fault.failure.address = {reinterpret_cast<uint64_t>(info.si_addr)};
  fault.failure.pc = {fault.registers.pc()};
  return fault;
}

// Returns true if something on the stack looks like the context of a fault. Only then a walk is worth its time.
bool MayHoldFault(const Report& report, const ReportMemory& memory, uint64_t sp) {
  const Mapping* stack = report.FindMapping({sp});
  if (!stack) return false;
  const uint64_t end = std::min(stack->end.value, sp + kMostSearched);
  for (uint64_t at = sp & ~(kWord - 1); at + kContextSize < end; at += kWord) {
    const std::optional<uint64_t> number = memory.ReadNumber({at + kContextSize}, sizeof(int32_t));
    if (number && IsFaultSignal(*number) && FaultAt(memory, {at})) return true;
  }
  return false;
}

std::string NameAt(const Symbols& symbols, TargetAddress pc) {
  const CodeInfo& info = symbols.code().At(pc);
  return info.live.empty() || info.live.back().function.empty() ? "its handler" : info.live.back().function;
}

}  // namespace

std::string GoBackToFault(const Symbols& symbols, Report* report) {
  const auto thread = std::ranges::find(report->threads, true, &Thread::failing);
  if (thread == report->threads.end() || report->failure.kind != FailureKind::kSignal) return "";
  if (!MayHoldFault(*report, ReportMemory(*report, nullptr), thread->registers.sp())) return "";
  const ReportMemory memory(*report, &symbols.modules());
  Unwinder unwinder(symbols.modules(), memory);
  const std::vector<UnwoundFrame> stack = unwinder.Walk(RegisterFile(thread->registers), true, kMostUnwound).inner;
  for (size_t i = stack.size(); i-- > 1;) {  // the outermost came first
    const std::optional<TargetAddress> sp = stack[i].registers.sp();
    if (!stack[i].is_signal_frame || !sp) continue;
    std::optional<Fault> fault = FaultAt(memory, *sp);
    if (!fault) continue;
    const std::string note = "the program's own handler of " + SignalName(fault->failure.signal) + ", " +
                             NameAt(symbols, stack[i - 1].lookup_pc()) + ", ended it by " +
                             SignalName(report->failure.signal) + "; what is reproduced is the " +
                             SignalName(fault->failure.signal);
    fault->registers.fs_base = thread->registers.fs_base;
    thread->registers = std::move(fault->registers);
    report->failure = std::move(fault->failure);
    report->thrown.reset();
    return note;
  }
  return "";
}

}  // namespace recrash
