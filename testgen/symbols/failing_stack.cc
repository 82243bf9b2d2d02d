#include "testgen/symbols/failing_stack.h"

#include <csignal>

namespace recrash {
namespace {

// The walk keeps this many live frames. In most recursions every one or two frames hold a candidate.
constexpr size_t kMostUnwound = 4096;

// If `noexcept` ends the program, the stack is unwound before that. Only the copy that was made at the throw has the
// frames up to the throw.
bool StartsAtThrow(const Report& report) {
  return report.thrown && (report.failure.kind == FailureKind::kException || report.failure.signal == SIGABRT);
}

}  // namespace

Result<std::unique_ptr<FailingStack>> UnwindFailingStack(const Report& report, const Symbols& symbols) {
  const Thread* thread = report.failing_thread();
  if (thread == nullptr) return Error{Errc::kDamaged, "the report does not say which thread failed"};
  auto stack = std::make_unique<FailingStack>(report, symbols);
  if (StartsAtThrow(report)) {
    stack->memory.Overlay(report.thrown->address, report.thrown->bytes);
    stack->unwound = stack->unwinder.Walk(RegisterFile(report.thrown->registers), false, kMostUnwound);
  } else {
    stack->fxsave = thread->registers.fxsave;
    stack->unwound = stack->unwinder.Walk(RegisterFile(thread->registers), true, kMostUnwound);
  }
  return stack;
}

}  // namespace recrash
