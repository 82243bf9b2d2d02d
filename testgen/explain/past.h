// What ran before the failure, as often as one wants to look: each visit replays the same call once more.
//
//   Past past(&replays, position, start, fault, seconds);
//   past.Visit([&](PastRun& run) {
//     if (run.GoTo(position)) trace = run.TraceCall(limit);
//   });
#ifndef RECRASH_TESTGEN_EXPLAIN_PAST_H_
#define RECRASH_TESTGEN_EXPLAIN_PAST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "testgen/explain/execution.h"
#include "testgen/verify/replays.h"

namespace recrash::explain {

// The `count`th time that an instruction is reached with this stack pointer, counted from the gate before.
struct Gate {
  uint64_t pc = 0;
  uint64_t sp = 0;
  uint64_t count = 1;
};
// A moment, by the gates that lead to it from the beginning. None: the beginning.
using Moment = std::vector<Gate>;

struct TraceStep {
  const CodeInstruction* code = nullptr;
  user_regs_struct before{};
  uint64_t callee = 0;        // of a call: the first instruction of what was called, behind the linker's stubs
  bool has_returned = false;  // the call
};

// One call of a function, without what it called.
struct Trace {
  enum End : uint8_t { kReturned, kFailed, kOther, kAtWrite, kTooLong };
  std::vector<TraceStep> steps;
  user_regs_struct after{};
  End end = kOther;
};

struct StackSnapshot {
  user_regs_struct registers{};
  std::vector<uint8_t> bytes;  // from the stack pointer on
};

// A write to memory.
struct Written {
  uint64_t number = 0;  // among all of them, from 1
  bool by_kernel = false;
  std::string source;  // by the kernel: " from descriptor 3, at offset 0"; may be empty
  StackSnapshot stack;
};

// Where a trace ends, at the latest: behind the `number`th write to the word.
struct UntilWritten {
  uint64_t address = 0;
  uint32_t size = 8;
  uint64_t number = 0;  // 0: not bounded
};

class PastRun {
 public:
  explicit PastRun(Execution* execution) : execution_(*execution) {}

  // Notes each write to the word from now on, and tells `on_write` of it.
  void Watch(uint64_t address, uint32_t size, uint64_t until = 0, std::function<void(const Written&)> on_write = {});
  // Tells `on_reach` of each time that the instruction is reached from now on.
  void OnReach(uint64_t pc, std::function<void(const user_regs_struct&)> on_reach);
  // False if it does not come there.
  bool GoTo(const Moment& moment);
  bool GoTo(const Gate& gate);
  // REQUIRES: at the first instruction of the call.
  Trace TraceCall(size_t most_steps);
  // Runs to the end, and counts how often the instruction is reached with this stack pointer; 0: too often to count.
  uint64_t CountToEnd(uint64_t pc, uint64_t sp);
  // Runs to the failure; false if it ends otherwise.
  bool GoToFailure() { return Continue().kind == Stop::kFailed; }
  StackSnapshot TakeStack() const;
  const std::optional<Written>& last_write() const { return last_write_; }
  Execution& execution() { return execution_; }

 private:
  // As Execution::Continue, but for writes to the watched word, which are noted.
  Stop Continue();
  std::optional<Stop> Noted(Stop stop);
  Stop StepInto(TraceStep* step);
  Stop RunCall(const CodeInstruction& call, uint64_t sp);
  void NoteWrite(bool by_kernel);

  Execution& execution_;
  uint64_t until_ = 0;
  std::function<void(const Written&)> on_write_;
  int reach_slot_ = -1;
  std::function<void(const user_regs_struct&)> on_reach_;
  std::optional<Written> last_write_;
  bool at_until_ = false;
};

// One thing that a replay does otherwise: it goes on elsewhere, or with another value in rax.
struct Edit {
  uint64_t pc = 0;  // 0: the same
  std::optional<uint64_t> result;
};

class Past {
 public:
  // Replays the frame at `position` of the report. Each replay ends at the deadline.
  Past(Replays* replays, size_t position, const Start& start, const Fault& fault, Execution::Clock::time_point deadline)
      : replays_(replays), position_(position), start_(start), fault_(fault), deadline_(deadline) {}

  Status Visit(const std::function<void(PastRun&)>& visit);
  // Goes on by itself from the moment, edited, and tells what became of it.
  Result<Verdict> Undo(const Moment& moment, const Edit& edit);
  uint64_t visits() const { return visits_; }
  // What a visit has counted may not be all.
  bool is_over() const { return Execution::Clock::now() > deadline_; }

 private:
  Result<Verdict> Run(const std::function<void(PastRun&)>& visit);

  Replays* replays_;
  size_t position_;
  Start start_;
  Fault fault_;
  Execution::Clock::time_point deadline_;
  uint64_t visits_ = 0;
  DecodedCode code_;
};

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_PAST_H_
