// One replayed call under our control: stopped at instructions, at writes to memory, step by step.
//
//   Execution execution(process, begin);
//   if (Status status = execution.Attach(); !status) return status;
//   const int slot = execution.BreakAt(entry);
//   while (execution.Continue().kind == Stop::kAtInstruction) …
//
// It uses the processor's debug registers. They belong to one thread, change nothing in the program's memory, and let
// it run at full speed. There are four.
#ifndef RECRASH_TESTGEN_EXPLAIN_EXECUTION_H_
#define RECRASH_TESTGEN_EXPLAIN_EXECUTION_H_

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "agent/base/fd.h"
#include "agent/base/result.h"
#include "testgen/explain/machine_code.h"

namespace recrash::explain {

struct Stop {
  enum Kind : uint8_t {
    kAtInstruction,  // it has not run
    kWritten,        // by the instruction before
    kKernelWrote,    // in a system call, which has returned
    kStepped,
    kFailed,  // the signal with which the program ended
    kEnded,   // otherwise, or its time is over
  };
  Kind kind = kEnded;
  int slot = -1;  // of the first two
};

// Bytes in memory; size 0: none.
struct Extent {
  uint64_t address = 0;
  uint64_t size = 0;
  bool Overlaps(uint64_t other, uint64_t other_size) const {
    return address < other + other_size && other < address + size;
  }
};

// The buffer that a system call has filled; `after`: the registers behind it.
Extent FilledBy(const user_regs_struct& after);

// What ends a replay: the failure as it was recorded.
struct Fault {
  int signal = 0;
  uint64_t pc = 0;
};

using DecodedCode = std::map<uint64_t, CodeInstruction>;

class Execution {
 public:
  using Clock = std::chrono::steady_clock;

  // `process` waits until `begin` is called. After `deadline` it is at its end. `code` keeps what was decoded: code
  // does not change from one replay to the next.
  Execution(pid_t process, std::function<void()> begin, const Fault& fault, Clock::time_point deadline,
            DecodedCode* code)
      : pid_(process), begin_(std::move(begin)), fault_(fault), deadline_(deadline), code_(code) {}
  Execution(const Execution&) = delete;
  ~Execution();

  // kRefused: it may not be traced, or the processor's debug registers cannot be used here.
  Status Attach();

  // At most four of these. They return a slot; -1: none is free.
  int BreakAt(uint64_t instruction);
  int Watch(uint64_t address, uint32_t size);
  void Clear(int slot);

  Stop Continue();
  Stop Step();

  const user_regs_struct& registers() const { return registers_; }
  uint64_t pc() const { return registers_.rip; }
  uint64_t sp() const { return registers_.rsp; }
  pid_t process() const { return pid_; }
  bool Read(uint64_t address, std::span<uint8_t> out) const;
  std::optional<uint64_t> ReadWord(uint64_t address, uint32_t size = 8) const;
  // It goes on without us.
  Status LetGo();
  Status SetRegisters(const user_regs_struct& registers);
  const CodeInstruction& CodeAt(uint64_t pc);

 private:
  struct Slot {
    bool used = false;
    bool is_watch = false;
    uint64_t address = 0;
    uint32_t size = 1;
    uint64_t before = 0;  // what a watched word was before a system call
  };

  void End();
  int Take(const Slot& slot);
  void SetDebugRegister(int number, uint64_t value);
  void SetControl();
  Stop Resume(int request);
  std::optional<Stop> Look(int status, int request);
  std::optional<Stop> LookAtTrap();
  bool watches() const;
  void NoteWatched();
  std::optional<Stop> WrittenByKernel();

  pid_t pid_;
  std::function<void()> begin_;
  Fault fault_;
  Clock::time_point deadline_;
  Fd memory_;
  bool begun_ = false;
  bool attached_ = false;
  bool ended_ = false;
  bool debug_failed_ = false;
  int pending_signal_ = 0;
  user_regs_struct registers_{};
  std::array<Slot, 4> slots_;
  DecodedCode* code_;
};

// The value of a register, of the first eight bytes of a vector register nothing.
uint64_t ValueOf(const user_regs_struct& registers, uint8_t reg);
// Where an operand in memory lies.
uint64_t AddressOf(const user_regs_struct& registers, const CodeOperand& operand);

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_EXECUTION_H_
