// Finds the length of one x86-64 instruction, and what prevents running it at another address.
//
// It knows what compilers emit. An unknown instruction has size 0, and the patcher leaves its function alone. A test
// compares it with a disassembler over a whole program (instruction_test.cc).
#ifndef RECRASH_AGENT_CLIENT_WATCH_INSTRUCTION_H_
#define RECRASH_AGENT_CLIENT_WATCH_INSTRUCTION_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash::watch {

enum class InstructionKind : uint8_t {
  kPlain,   // does the same at any address, once a rip-relative displacement is corrected
  kBranch,  // relative jump: `target`
  kCall,    // relative call: `target`
  kLeaves,  // returns, jumps or calls through a register or memory, traps
};

struct Instruction {
  uint8_t size = 0;          // 0: not known
  uint8_t displacement = 0;  // where its rip-relative disp32 lies; 0: none
  uint8_t modrm = 0;         // where its ModRM byte lies; 0: it has none
  InstructionKind kind = InstructionKind::kPlain;
  uint64_t target = 0;  // kBranch, kCall; as if the code lay at `address`
};

Instruction DecodeInstruction(const uint8_t* code, size_t available, uint64_t address);

// Is `code` an endbr64, where -fcf-protection lets indirect calls arrive?
bool IsLandingPad(const uint8_t* code, size_t available);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_INSTRUCTION_H_
