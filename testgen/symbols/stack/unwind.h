// Walks the failing thread's stack by call frame information, from registers and memory of the report.
//
//   Unwinder unwinder(modules, memory);
//   const UnwoundStack stack = unwinder.Walk(RegisterFile(thread.registers), true, 4096);
//
// libdwfl has a walk, but it does not keep every register of every frame. Records are based on rsp, rbp or rbx, DWARF
// locations on any register. And a stack overflow of 170,000 frames needs a cache by pc and no allocation a frame.
#ifndef RECRASH_TESTGEN_SYMBOLS_STACK_UNWIND_H_
#define RECRASH_TESTGEN_SYMBOLS_STACK_UNWIND_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/files/report_memory.h"

namespace recrash {

struct UnwoundFrame {
  RegisterFile registers;  // as they are at pc in this frame; callers know the callee-saved ones only
  TargetAddress pc;        // the failing instruction, or the address that the callee returns to
  bool exact = false;      // pc is an instruction that was about to run, not a return address
  bool is_signal_frame = false;
  TargetAddress cfa;  // 0 when there is no call frame information for pc

  // An address inside the instruction that this frame is at. A return address is the instruction after the call and may
  // belong to the next line, or to the next function when the call does not return; one byte back is inside the call.
  TargetAddress lookup_pc() const { return exact || is_signal_frame ? pc : pc - 1; }
};

struct UnwoundStack {
  std::vector<UnwoundFrame> inner;
  std::vector<UnwoundFrame> outer;  // the outermost ones, if the stack is deeper than the limit
  // How often each lookup_pc() stands between the two.
  std::map<TargetAddress, uint64_t> skipped;
  std::vector<std::string> notes;
};

// The CFA at one pc, if it is as simple as a register plus an offset.
struct CfaRule {
  int base = -1;
  int64_t offset = 0;
};

class Unwinder {
 public:
  Unwinder(ModuleSet& modules, const ReportMemory& memory) : modules_(modules), memory_(memory) {}

  // Returns at most `limit` frames, half of them from each end of a deeper stack. `exact`: the pc of `start` is an
  // instruction that was about to run, not a return address.
  UnwoundStack Walk(const RegisterFile& start, bool exact, size_t limit);
  // Returns the rule at an address; nothing if it is more than a register and an offset.
  std::optional<CfaRule> CfaAt(TargetAddress pc);

 private:
  struct Rule {
    enum class Kind : uint8_t { kUndefined, kSame, kAtCfa, kCfaPlus, kExpression };
    Kind kind = Kind::kUndefined;
    int64_t offset = 0;
    std::vector<Dwarf_Op> ops;
  };
  struct Row {
    bool valid = false;
    bool is_signal = false;
    CfaRule cfa;
    std::vector<Dwarf_Op> cfa_ops;  // where the rule is an expression
    std::vector<Rule> registers;
  };

  const Row& RowAt(TargetAddress pc);
  Row ReadRow(TargetAddress pc);
  static bool ReadRow(Dwarf_CFI* cfi, uint64_t address, Row& row);
  static Rule ReadRule(Dwarf_Frame* frame, int number);
  std::optional<TargetAddress> Cfa(const Row& row, const RegisterFile& registers) const;
  std::optional<uint64_t> Recover(const Rule& rule, int number, TargetAddress cfa, const RegisterFile& registers) const;
  // Returns the caller; nothing at the end of the stack. Sets what the step learns of `frame`: its CFA, its kind.
  std::optional<UnwoundFrame> Step(UnwoundFrame& frame, bool innermost);
  std::optional<UnwoundFrame> StepWithoutCfi(const UnwoundFrame& frame, bool innermost);
  bool IsCode(TargetAddress address);
  bool IsEntryPrefix(TargetAddress pc);

  ModuleSet& modules_;
  const ReportMemory& memory_;
  std::unordered_map<uint64_t, Row> rows_;  // by pc: a deep recursion asks millions of times
  std::string stopped_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_STACK_UNWIND_H_
