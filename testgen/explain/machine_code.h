// What one x86-64 instruction reads and writes, so that a value can be followed back through it.
//
//   const CodeInstruction instruction = DecodeCode(bytes, pc);
//   if (instruction.kind == CodeKind::kMove) value = Source(instruction);
#ifndef RECRASH_TESTGEN_EXPLAIN_MACHINE_CODE_H_
#define RECRASH_TESTGEN_EXPLAIN_MACHINE_CODE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace recrash::explain {

// Registers by the processor's numbers, rax rcx rdx rbx rsp rbp rsi rdi r8 to r15; then xmm0 to xmm31. Parts of a
// register are the register.
constexpr uint8_t kRax = 0;
constexpr uint8_t kRcx = 1;
constexpr uint8_t kRdx = 2;
constexpr uint8_t kRsp = 4;
constexpr uint8_t kRbp = 5;
constexpr uint8_t kRsi = 6;
constexpr uint8_t kRdi = 7;
constexpr uint8_t kFirstVector = 16;
constexpr uint8_t kNone = 0xff;

enum class CodeKind : uint8_t {
  kOther,    // the result is computed from all operands
  kMove,     // the result is the source
  kChoose,   // cmov: the source, or what was there
  kSet,      // 0 or 1, by the flags
  kAddress,  // lea
  kClear,    // xor of a register with itself
  kMask,     // the result is part of the first operand: and, or with a constant
  kCompare,  // only flags
  kPush,
  kPop,
  kString,  // movs, stos: rdi is where to, rsi where from
  kCall,
  kReturn,
  kJump,
  kBranch,  // conditional jump
  kStop,    // hlt, ud2
};

struct CodeOperand {
  enum Kind : uint8_t { kRegister, kMemory, kImmediate };
  Kind kind = kRegister;
  bool is_read = false;
  bool is_written = false;
  bool is_hidden = false;  // not in the instruction's text
  uint8_t reg = kNone;     // kRegister
  uint8_t base = kNone;    // kMemory: these
  uint8_t index = kNone;
  uint8_t scale = 1;
  bool has_segment = false;  // fs or gs
  int64_t displacement = 0;  // relative to rip: the address itself
  uint32_t size = 0;         // in bytes
  int64_t immediate = 0;     // also the target of a relative jump, as an address
};

struct CodeInstruction {
  uint64_t pc = 0;
  uint8_t length = 0;  // 0: it is none
  CodeKind kind = CodeKind::kOther;
  bool reads_flags = false;
  bool writes_flags = false;
  bool repeats = false;
  std::vector<CodeOperand> operands;
  std::string text;  // "mov rax, [rbp-0x18]"

  uint64_t next() const { return pc + length; }
  bool Writes(uint8_t reg) const;
  // The operand that a value came from: not the result alone. Null if there is none.
  const CodeOperand* Source() const;
  // The operand in memory; null if there is none.
  const CodeOperand* Memory() const;
};

CodeInstruction DecodeCode(std::span<const uint8_t> bytes, uint64_t pc);

// "rax"; "xmm3".
std::string RegisterText(uint8_t reg);

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_MACHINE_CODE_H_
