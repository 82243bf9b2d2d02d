#include "testgen/symbols/first_failure.h"

#include <ucontext.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "agent/base/readable_name.h"
#include "agent/base/signal_safe/register_order.h"
#include "testgen/symbols/dwarf/plain_function.h"
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
  return info.live.empty() ? "" : info.live.back().function;
}

// The function that the kernel called, or the agent in its place: outermost of the frames inside `signal_frame`.
std::string HandlerName(const Symbols& symbols, const std::vector<UnwoundFrame>& stack, size_t signal_frame) {
  for (size_t i = signal_frame; i-- > 0;) {
    const std::string name = NameAt(symbols, stack[i].lookup_pc());
    if (!name.starts_with("recrash::client::")) return name.empty() ? "its handler" : name;
  }
  return "its handler";
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
                             HandlerName(symbols, stack, i) + ", ended it by " + SignalName(report->failure.signal) +
                             "; what is reproduced is the " + SignalName(fault->failure.signal);
    fault->registers.fs_base = thread->registers.fs_base;
    thread->registers = std::move(fault->registers);
    report->failure = std::move(fault->failure);
    report->thrown.reset();
    return note;
  }
  return "";
}

void GoBackToReplaced(Report* report) {
  ReplacedException& replaced = *report->replaced;
  Failure& failure = report->failure;
  failure.replaced_by = std::exchange(failure.exception_type, std::move(replaced.type));
  failure.exception_what = std::move(replaced.what);
  const auto thread = std::ranges::find(report->threads, true, &Thread::failing);
  if (thread != report->threads.end()) thread->registers.dwarf = replaced.stack.registers.dwarf;
  report->thrown = std::move(replaced.stack);
  report->replaced.reset();
}

namespace {

bool IsSameCall(const Frame& a, const Frame& b) {
  return a.pc == b.pc && a.function == b.function && a.inlined == b.inlined && (a.inlined || a.entry_sp == b.entry_sp);
}

// The place in `first` of the innermost call that was still there when the last exception was thrown. It had gone on to
// its handler since, so that its instruction is another one.
std::optional<size_t> FindHandlersFrame(std::span<const Frame> last, std::span<const Frame> first) {
  while (!last.empty() && !first.empty() && IsSameCall(last.back(), first.back())) {
    last = last.first(last.size() - 1);
    first = first.first(first.size() - 1);
  }
  if (last.empty() || first.empty()) return std::nullopt;
  const bool is_call = !first.back().inlined && !last.back().inlined && first.back().entry_sp.value != 0 &&
                       first.back().entry_sp == last.back().entry_sp && first.back().function == last.back().function;
  if (!is_call) return std::nullopt;
  // The handler may be that of a function which is inlined there.
  size_t found = first.size() - 1;
  for (size_t i = last.size() - 1; found > 0 && i > 0; --found, --i) {
    const Frame &inner = first[found - 1], &other = last[i - 1];
    if (!inner.inlined || !other.inlined || inner.function != other.function) break;
  }
  return found;
}

}  // namespace

std::string LeaveFramesInsideHandler(const Backtrace& last, Backtrace* first) {
  std::vector<Frame>& frames = first->frames;
  const std::optional<size_t> handler = FindHandlersFrame(last.frames, frames);
  for (size_t i = handler.value_or(0); i < frames.size(); ++i) {
    frames[i].candidate = frames[i].twin_candidate = false;
    frames[i].why_not =
        handler ? "it was there when the other exception was thrown" : "where it was caught is not known";
  }
  if (!handler) return "";
  // What the handler makes of an exception is not known: it replaced this one, and nobody caught the other.
  const size_t outside = *handler == 0 ? 0 : frames[*handler - 1].caught.size();
  for (size_t i = 0; i < *handler; ++i) {
    std::vector<std::string>& caught = frames[i].caught;
    caught.erase(caught.begin(), caught.begin() + static_cast<ptrdiff_t>(std::min(outside, caught.size())));
  }
  // A caller from here on counts as not known, in other builds as well.
  std::vector<SourceFrame>& chain = first->place.chain;
  const std::string name = SourceName(frames[*handler].function);
  auto end = std::ranges::find(chain, name, &SourceFrame::function);
  for (size_t i = 0; i < *handler && end != chain.end(); ++i)
    if (SourceName(frames[i].function) == name)
      end = std::find_if(end + 1, chain.end(), [&](const SourceFrame& caller) { return caller.function == name; });
  chain.erase(end, chain.end());
  return frames[*handler].function;
}

}  // namespace recrash
