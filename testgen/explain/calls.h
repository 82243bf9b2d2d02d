// Calls of the replayed past, their traces, and who called them.
#ifndef RECRASH_TESTGEN_EXPLAIN_CALLS_H_
#define RECRASH_TESTGEN_EXPLAIN_CALLS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/explain/past.h"
#include "testgen/explain/places.h"
#include "testgen/symbols/symbols.h"

namespace recrash::explain {

// A frame that was found by unwinding. `sp` is the stack pointer at the function's first instruction.
struct StackCall {
  uint64_t entry = 0;
  uint64_t sp = 0;
  uint64_t pc = 0;  // inside the instruction that it is at
};

struct Call {
  uint64_t entry = 0;
  uint64_t sp = 0;
  Moment moment;                 // its first instruction
  UntilWritten until;            // it is looked at until then
  std::vector<StackCall> outer;  // innermost first; empty where `caller` was known from the beginning
  std::shared_ptr<Call> caller;
  bool has_no_caller = false;  // it was looked for
  size_t caller_step = 0;      // of its trace: the call
  std::optional<Trace> trace;
};
using CallPtr = std::shared_ptr<Call>;

class Calls {
 public:
  // `outermost_sp`: the stack pointer with which the replayed call begins.
  Calls(const Report& report, const Symbols& symbols, SourceOf* source, Past* past, uint64_t outermost_sp)
      : report_(report), symbols_(symbols), source_(*source), past_(*past), outermost_sp_(outermost_sp) {}

  // The innermost call of the program's own that was live at the failure; null without one.
  // `memory` becomes what the replay has in memory then.
  CallPtr Failing(const std::string& program, Report* memory);
  // Empty if the replay does not come there any more.
  const Trace& TraceOf(const CallPtr& call);
  // The call and the step in its trace that is the call; null if the past does not hold it.
  std::pair<CallPtr, size_t> CallerOf(const CallPtr& call);
  // What the call at a step of the trace has called.
  CallPtr CalledAt(const CallPtr& call, size_t step);
  // When the step is about to run.
  Moment MomentOf(const CallPtr& call, size_t step);

  // The frame belongs to the call, or to one that called it.
  static bool IsLive(const CallPtr& call, const StackCall& frame);
  // In the frames that the replayed call has made.
  bool IsOnStack(uint64_t address) const { return address < outermost_sp_ && address > outermost_sp_ - kLargestStack; }

  // What lies at two addresses then, some bytes of each; nothing if it cannot be read.
  std::optional<std::pair<std::string, std::string>> TextsAt(const CallPtr& call, size_t step,
                                                             const std::array<uint64_t, 2>& at);

  struct Writer {
    Written write;
    std::vector<StackCall> stack;  // innermost first
    UntilWritten until;
  };
  // Who wrote the word last before a moment; nothing if nobody did. kRefused: the moment was not reached.
  Result<std::optional<Writer>> LastWriter(uint64_t address, uint32_t size, const Moment& before);
  // What rax held the last time before that moment that another value than `now` was there at the instruction.
  std::optional<uint64_t> EarlierResult(uint64_t pc, uint64_t now, const Moment& before);
  // The last function that `frees` names, and that wrote the word between two moments.
  std::optional<Writer> FreedBetween(uint64_t word, const Moment& from, const Moment& to,
                                     const std::function<bool(const std::string&)>& frees);
  // The frame of a writer's stack as a call that ends with the write.
  CallPtr CallOf(const Writer& writer, size_t frame);

 private:
  static constexpr uint64_t kLargestStack = 8 << 20;

  CallPtr CallOf(std::span<const StackCall> stack, const UntilWritten& until);
  void GoIntoJump(const CallPtr& call);
  // `wrote`: the instruction that counts is the one before.
  std::vector<StackCall> StackOf(const StackSnapshot& snapshot, bool wrote);

  const Report& report_;
  const Symbols& symbols_;
  SourceOf& source_;
  Past& past_;
  uint64_t outermost_sp_ = 0;
};

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_CALLS_H_
