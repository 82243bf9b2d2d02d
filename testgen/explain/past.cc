#include "testgen/explain/past.h"

#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>

#include "agent/process/proc_files.h"

namespace recrash::explain {
namespace {

// Enough to find the callers of what wrote.
constexpr size_t kStackKept = 64 << 10;
constexpr size_t kLeastStack = 256;
// A gate that is passed by more often is given up: each time costs 20 us.
constexpr uint64_t kMostHits = 400'000;
// Stubs of the linker before a function.
constexpr int kMostStubs = 3;

// Of a system call that has read something.
std::string SourceOfInput(const Execution& execution) {
  const user_regs_struct& after = execution.registers();
  if (FilledBy(after).size == 0 || after.orig_rax == SYS_getrandom) return "";
  const std::string number = std::to_string(after.rdi);
  std::string text = " from descriptor " + number;
  // "pos:\t8", behind what was read.
  const std::string info = ReadProcFile(execution.process(), "fdinfo/" + number);
  const uint64_t end = info.starts_with("pos:") ? std::strtoull(info.c_str() + 4, nullptr, 10) : 0;
  if (after.orig_rax == SYS_read && end >= after.rax) text += ", at offset " + std::to_string(end - after.rax);
  return text;
}

}  // namespace

void PastRun::Watch(uint64_t address, uint32_t size, uint64_t until, std::function<void(const Written&)> on_write) {
  on_write_ = std::move(on_write);
  until_ = until;
  execution_.Watch(address, size);
}

StackSnapshot PastRun::TakeStack() const {
  StackSnapshot stack{execution_.registers(), std::vector<uint8_t>(kStackKept)};
  size_t size = kStackKept;
  while (size >= kLeastStack && !execution_.Read(stack.registers.rsp, std::span(stack.bytes).first(size))) size /= 2;
  stack.bytes.resize(size >= kLeastStack ? size : 0);
  return stack;
}

void PastRun::NoteWrite(bool by_kernel) {
  if (!last_write_) last_write_.emplace();
  Written& write = *last_write_;
  ++write.number;
  write.by_kernel = by_kernel;
  write.stack = TakeStack();
  write.source = by_kernel ? SourceOfInput(execution_) : "";
  if (on_write_) on_write_(write);
  at_until_ = until_ != 0 && write.number >= until_;
}

void PastRun::OnReach(uint64_t pc, std::function<void(const user_regs_struct&)> on_reach) {
  on_reach_ = std::move(on_reach);
  reach_slot_ = execution_.BreakAt(pc);
}

// Nothing: it was noted, and goes on.
std::optional<Stop> PastRun::Noted(Stop stop) {
  if (stop.kind == Stop::kAtInstruction && stop.slot == reach_slot_) {
    on_reach_(execution_.registers());
    return std::nullopt;
  }
  const bool is_write = stop.kind == Stop::kWritten || stop.kind == Stop::kKernelWrote;
  if (!is_write) return stop;
  NoteWrite(stop.kind == Stop::kKernelWrote);
  return at_until_ ? std::optional(stop) : std::nullopt;
}

Stop PastRun::Continue() {
  for (;;)
    if (const std::optional<Stop> stop = Noted(execution_.Continue())) return *stop;
}

bool PastRun::GoTo(const Gate& gate) {
  const int slot = execution_.BreakAt(gate.pc);
  uint64_t left = gate.count;
  // The instruction at which it stands counts: it has not run.
  if (execution_.pc() == gate.pc && execution_.sp() == gate.sp && left > 0) --left;
  for (uint64_t hits = 0; left > 0 && hits < kMostHits; ++hits) {
    const Stop stop = Continue();
    if (stop.kind != Stop::kAtInstruction) break;
    if (execution_.sp() == gate.sp) --left;
  }
  execution_.Clear(slot);
  return left == 0;
}

bool PastRun::GoTo(const Moment& moment) {
  return std::ranges::all_of(moment, [this](const Gate& gate) { return GoTo(gate); });
}

uint64_t PastRun::CountToEnd(uint64_t pc, uint64_t sp) {
  const int slot = execution_.BreakAt(pc);
  uint64_t count = execution_.pc() == pc && execution_.sp() == sp ? 1 : 0;
  uint64_t hits = 0;
  while (Continue().kind == Stop::kAtInstruction && ++hits <= kMostHits) count += execution_.sp() == sp;
  execution_.Clear(slot);
  return hits > kMostHits ? 0 : count;
}

// Runs the one instruction; of a call also what the linker has put before the function.
Stop PastRun::StepInto(TraceStep* step) {
  Stop stop = execution_.Step();
  if (step->code->kind != CodeKind::kCall) return stop;
  for (int stubs = 0; stubs < kMostStubs && stop.kind == Stop::kStepped; ++stubs) {
    const CodeInstruction& first = execution_.CodeAt(execution_.pc());
    const bool is_stub = first.kind == CodeKind::kJump && first.Memory() != nullptr;
    const bool is_landing_pad = first.text == "endbr64" && stubs == 0;
    if (is_landing_pad) {
      const CodeInstruction& second = execution_.CodeAt(first.next());
      if (second.kind != CodeKind::kJump || second.Memory() == nullptr) break;
    } else if (!is_stub) {
      break;
    }
    stop = execution_.Step();
  }
  step->callee = execution_.pc();
  return stop;
}

// Runs from inside of a call to its return.
Stop PastRun::RunCall(const CodeInstruction& call, uint64_t sp) {
  const int slot = execution_.BreakAt(call.next());
  Stop stop;
  // A recursion comes by here deeper in the stack, too.
  do stop = Continue();
  while (stop.kind == Stop::kAtInstruction && execution_.sp() < sp);
  execution_.Clear(slot);
  if (stop.kind == Stop::kAtInstruction) stop.kind = Stop::kStepped;
  return stop;
}

Trace PastRun::TraceCall(size_t most_steps) {
  Trace trace;
  const uint64_t entry_sp = execution_.sp();
  while (trace.steps.size() < most_steps) {
    TraceStep step;
    step.code = &execution_.CodeAt(execution_.pc());
    step.before = execution_.registers();
    Stop stop;
    if (step.code->repeats) {
      stop = RunCall(*step.code, step.before.rsp);  // a step would be one repetition
    } else {
      stop = StepInto(&step);
      if (const std::optional<Stop> noted = Noted(stop))
        stop = *noted;
      else
        stop.kind = Stop::kStepped;
      if (step.code->kind == CodeKind::kCall && stop.kind == Stop::kStepped)
        stop = RunCall(*step.code, step.before.rsp);
    }
    step.has_returned = step.code->kind == CodeKind::kCall && stop.kind == Stop::kStepped;
    trace.steps.push_back(step);
    trace.after = execution_.registers();
    if (stop.kind == Stop::kFailed) trace.end = Trace::kFailed;
    if (stop.kind == Stop::kWritten || stop.kind == Stop::kKernelWrote) trace.end = Trace::kAtWrite;
    if (stop.kind != Stop::kStepped) return trace;
    if (execution_.sp() > entry_sp) {
      trace.end = Trace::kReturned;
      return trace;
    }
  }
  trace.end = Trace::kTooLong;
  return trace;
}

Status Past::Visit(const std::function<void(PastRun&)>& visit) {
  const Result<Verdict> visited = Run(visit);
  return visited ? Status(Ok{}) : visited.error();
}

Result<Verdict> Past::Undo(const Moment& moment, const Edit& edit) {
  bool edited = false;
  const Result<Verdict> verdict = Run([&](PastRun& run) {
    if (!run.GoTo(moment)) return;
    user_regs_struct registers = run.execution().registers();
    if (edit.pc != 0) registers.rip = edit.pc;
    if (edit.result) registers.rax = *edit.result;
    edited = run.execution().SetRegisters(registers) && run.execution().LetGo();
  });
  if (verdict && !edited) return Error{Errc::kRefused, "a replay did not come to that moment again"};
  return verdict;
}

Result<Verdict> Past::Run(const std::function<void(PastRun&)>& visit) {
  Status visited = Error{Errc::kRefused, "the replay did not come to its call"};
  const auto trace = [&](pid_t process, const std::function<void()>& begin) {
    Execution execution(process, begin, fault_, deadline_, &code_);
    visited = execution.Attach();
    if (!visited) return;
    PastRun run(&execution);
    visit(run);
  };
  ++visits_;
  const Result<Try> outcome = replays_->RunHeld(static_cast<uint32_t>(position_), start_, trace);
  if (!outcome) return outcome.error();
  if (!visited) return visited.error();
  return outcome->verdict;
}

}  // namespace recrash::explain
