// How to get from a frame to its caller: what the call frame information of a file (.eh_frame) says for one address.
//
//   const std::optional<FrameRules> rules = ReadFrameRules(image, pc.value - module.bias);
//   if (rules && rules->Unwind(read_word, &registers)) ...  // registers are those of the caller now
//
// The collector walks stacks by it, beside a program of which it has no symbols. The desk does by libdw, which the
// collector does not have. The file may be hostile: what is not understood ends the walk.
#ifndef RECRASH_AGENT_ELF_FRAME_RULES_H_
#define RECRASH_AGENT_ELF_FRAME_RULES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "agent/elf/elf_image.h"
#include "shadowstack/abi.h"

namespace recrash {

// By DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip.
using FrameRegisters = std::array<uint64_t, abi::kRegisterCount>;
using ReadTargetWord = std::function<std::optional<uint64_t>(uint64_t address)>;

struct FrameRules {
  enum class Kind : uint8_t { kSame, kUndefined, kAtCfa, kCfaPlus, kInRegister, kAtExpression, kExpression };
  struct Rule {
    Kind kind = Kind::kSame;
    int64_t number = 0;  // an offset from the CFA, or a register
    std::span<const uint8_t> expression = {};
  };

  Rule cfa;  // kInRegister with `cfa_offset`, or kExpression
  int64_t cfa_offset = 0;
  std::array<Rule, abi::kRegisterCount> registers;
  bool is_signal_frame = false;  // the caller was interrupted: its pc is no return address

  bool is_outermost() const;  // it has no caller
  // Changes `registers` to those of the caller. False if it is not known, or if there is none.
  bool Unwind(const ReadTargetWord& read, FrameRegisters* registers) const;
};

// The rules at an address of the file. Nothing if it has none there, or none that are understood. They point into the
// image.
std::optional<FrameRules> ReadFrameRules(const ElfImage& image, uint64_t address);

}  // namespace recrash

#endif  // RECRASH_AGENT_ELF_FRAME_RULES_H_
