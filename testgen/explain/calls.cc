#include "testgen/explain/calls.h"

#include <algorithm>

#include "agent/base/signal_safe/register_order.h"
#include "testgen/derive/twin_replay.h"
#include "testgen/symbols/files/report_memory.h"
#include "testgen/symbols/stack/unwind.h"

namespace recrash::explain {
namespace {

// 250 bytes a step; 20 us each.
constexpr size_t kMostSteps = 100'000;
constexpr size_t kDeepestStack = 256;
constexpr size_t kLongestText = 64;

bool IsSameStep(const TraceStep& a, const TraceStep& b) {
  return a.code->pc == b.code->pc && a.before.rsp == b.before.rsp;
}

}  // namespace

CallPtr Calls::CallOf(std::span<const StackCall> stack, const UntilWritten& until) {
  if (stack.empty() || stack.front().entry == 0 || stack.front().sp == 0) return nullptr;
  auto call = std::make_shared<Call>();
  call->entry = stack.front().entry;
  call->sp = stack.front().sp;
  call->until = until;
  call->outer.assign(stack.begin() + 1, stack.end());
  uint64_t count = 0;
  const Status visited = past_.Visit([&](PastRun& run) {
    if (until.number != 0) run.Watch(until.address, until.size, until.number);
    count = run.CountToEnd(call->entry, call->sp);
  });
  if (!visited || count == 0 || past_.is_over()) return nullptr;
  call->moment = {{call->entry, call->sp, count}};
  return call;
}

CallPtr Calls::CallOf(const Writer& writer, size_t frame) {
  if (frame >= writer.stack.size()) return nullptr;
  return CallOf(std::span(writer.stack).subspan(frame), writer.until);
}

CallPtr Calls::Failing(const std::string& program, Report* memory) {
  std::optional<StackSnapshot> snapshot;
  const Status visited = past_.Visit([&](PastRun& run) {
    if (!run.GoToFailure()) return;
    snapshot = run.TakeStack();
    Result<Report> taken = ReportOf(run.execution().process(), program, TargetAddress{run.execution().pc()});
    if (!taken) return;
    *memory = *std::move(taken);
    // The heap begins where it did, and grows.
    memory->process.brk_start = report_.process.brk_start;
    const Mapping* heap = memory->FindMapping(report_.process.brk_start);
    if (heap) memory->process.brk_end = heap->end;
  });
  if (!visited || !snapshot) return nullptr;
  std::vector<StackCall> stack = StackOf(*snapshot, false);
  const auto own = std::ranges::find_if(stack, [&](const StackCall& call) { return source_.IsOwnModule(call.pc); });
  stack.erase(stack.begin(), own);
  return CallOf(stack, {});
}

const Trace& Calls::TraceOf(const CallPtr& call) {
  if (call->trace) return *call->trace;
  call->trace.emplace();
  const Status visited = past_.Visit([&](PastRun& run) {
    if (call->until.number != 0) run.Watch(call->until.address, call->until.size, call->until.number);
    if (run.GoTo(call->moment)) *call->trace = run.TraceCall(kMostSteps);
  });
  if (!visited) call->trace->steps.clear();
  return *call->trace;
}

std::pair<CallPtr, size_t> Calls::CallerOf(const CallPtr& call) {
  if (call->caller) return {call->caller, call->caller_step};
  if (call->outer.empty() || call->has_no_caller) return {};
  call->has_no_caller = true;
  const CallPtr caller = CallOf(call->outer, call->until);
  if (!caller) return {};
  const Trace& trace = TraceOf(caller);
  if (trace.steps.empty() || trace.end == Trace::kReturned || trace.end == Trace::kTooLong) return {};
  call->caller = caller;
  call->caller_step = trace.steps.size() - 1;
  GoIntoJump(call);
  return {call->caller, call->caller_step};
}

// A function that ended in a jump to the call has no frame: it was called in place of it.
void Calls::GoIntoJump(const CallPtr& call) {
  const TraceStep& step = TraceOf(call->caller).steps[call->caller_step];
  if (step.callee == 0 || step.callee == call->entry || !source_.IsOwnModule(step.callee)) return;
  const CallPtr between = CalledAt(call->caller, call->caller_step);
  if (!between) return;
  const std::vector<TraceStep>& steps = TraceOf(between).steps;
  const auto begin = std::ranges::find_if(
      steps, [&](const TraceStep& other) { return other.code->pc == call->entry && other.before.rsp == call->sp; });
  if (begin == steps.end() || begin == steps.begin()) return;
  call->caller = between;
  call->caller_step = static_cast<size_t>(begin - steps.begin()) - 1;
}

CallPtr Calls::CalledAt(const CallPtr& call, size_t step) {
  const Trace& trace = TraceOf(call);
  const TraceStep& at = trace.steps[step];
  if (at.callee == 0) return nullptr;
  auto called = std::make_shared<Call>();
  called->entry = at.callee;
  called->sp = at.before.rsp - sizeof(uint64_t);
  const auto before = std::count_if(
      trace.steps.begin(), trace.steps.begin() + static_cast<ptrdiff_t>(step) + 1,
      [&](const TraceStep& other) { return other.callee == at.callee && other.before.rsp == at.before.rsp; });
  called->moment = call->moment;
  called->moment.push_back({called->entry, called->sp, static_cast<uint64_t>(before)});
  called->until = call->until;
  called->caller = call;
  called->caller_step = step;
  return called;
}

bool Calls::IsLive(const CallPtr& call, const StackCall& frame) {
  const auto is_frame = [&](const auto& other) { return other.entry == frame.entry && other.sp == frame.sp; };
  for (const Call* live = call.get(); live != nullptr; live = live->caller.get())
    if (is_frame(*live) || std::ranges::any_of(live->outer, is_frame)) return true;
  return false;
}

Moment Calls::MomentOf(const CallPtr& call, size_t step) {
  const Trace& trace = TraceOf(call);
  Moment moment = call->moment;
  const auto count = std::count_if(trace.steps.begin(), trace.steps.begin() + static_cast<ptrdiff_t>(step) + 1,
                                   [&](const TraceStep& other) { return IsSameStep(other, trace.steps[step]); });
  moment.push_back({trace.steps[step].code->pc, trace.steps[step].before.rsp, static_cast<uint64_t>(count)});
  return moment;
}

std::optional<std::pair<std::string, std::string>> Calls::TextsAt(const CallPtr& call, size_t step,
                                                                  const std::array<uint64_t, 2>& at) {
  std::array<std::string, 2> texts;
  const Status visited = past_.Visit([&](PastRun& run) {
    if (!run.GoTo(MomentOf(call, step))) return;
    for (size_t i = 0; i < texts.size(); ++i) {
      texts[i].resize(kLongestText);
      std::string& text = texts[i];
      while (!text.empty() && !run.execution().Read(at[i], {reinterpret_cast<uint8_t*>(text.data()), text.size()}))
        text.resize(text.size() / 2);
    }
  });
  if (!visited || texts[0].empty() || texts[1].empty()) return std::nullopt;
  return std::pair(texts[0], texts[1]);
}

std::vector<StackCall> Calls::StackOf(const StackSnapshot& snapshot, bool wrote) {
  ReportMemory memory(report_, &symbols_.modules());
  memory.Overlay(TargetAddress{snapshot.registers.rsp}, snapshot.bytes);
  Unwinder unwinder(symbols_.modules(), memory);
  Registers registers;
  std::ranges::transform(kPtraceRegisters, registers.dwarf.begin(),
                         [&](auto member) { return snapshot.registers.*member; });
  const UnwoundStack unwound = unwinder.Walk(RegisterFile(registers), true, kDeepestStack);
  std::vector<StackCall> stack;
  for (const UnwoundFrame& frame : unwound.inner) {
    const uint64_t pc = stack.empty() && wrote ? frame.pc.value - 1 : frame.lookup_pc().value;
    stack.push_back({source_.EntryOf(pc), frame.cfa.value == 0 ? 0 : frame.cfa.value - sizeof(uint64_t), pc});
  }
  return stack;
}

Result<std::optional<Calls::Writer>> Calls::LastWriter(uint64_t address, uint32_t size, const Moment& before) {
  bool reached = false;
  std::optional<Written> write;
  const Status visited = past_.Visit([&](PastRun& run) {
    run.Watch(address, size);
    reached = run.GoTo(before);
    write = run.last_write();
  });
  if (!visited) return visited.error();
  if (!reached) return Error{Errc::kRefused, "a replay did not come to that moment again"};
  if (!write) return std::optional<Writer>();
  std::vector<StackCall> stack = StackOf(write->stack, true);
  const UntilWritten until{address, size, write->number};
  return std::optional(Writer{*std::move(write), std::move(stack), until});
}

std::optional<uint64_t> Calls::EarlierResult(uint64_t pc, uint64_t now, const Moment& before) {
  std::optional<uint64_t> earlier;
  const Status visited = past_.Visit([&](PastRun& run) {
    const auto look = [&](const user_regs_struct& registers) {
      if (registers.rax != now) earlier = registers.rax;
    };
    run.OnReach(pc, look);
    run.GoTo(before);
  });
  return visited ? earlier : std::nullopt;
}

std::optional<Calls::Writer> Calls::FreedBetween(uint64_t word, const Moment& from, const Moment& to,
                                                 const std::function<bool(const std::string&)>& frees) {
  uint64_t before = 0;
  bool reached = false;
  const Status counted = past_.Visit([&](PastRun& run) {
    run.Watch(word, sizeof(uint64_t));
    reached = run.GoTo(from);
    if (run.last_write()) before = run.last_write()->number;
  });
  if (!counted || !reached) return std::nullopt;
  std::optional<Written> freed;
  const Status visited = past_.Visit([&](PastRun& run) {
    run.Watch(word, sizeof(uint64_t), 0, [&](const Written& write) {
      const bool is_free = write.number > before && frees(source_.FunctionAt(write.stack.registers.rip - 1));
      if (is_free && !source_.IsOwnModule(write.stack.registers.rip - 1)) freed = write;
    });
    reached = run.GoTo(to);
  });
  if (!visited || !reached || !freed) return std::nullopt;
  std::vector<StackCall> stack = StackOf(freed->stack, true);
  const UntilWritten until{word, sizeof(uint64_t), freed->number};
  return Writer{*std::move(freed), std::move(stack), until};
}

}  // namespace recrash::explain
