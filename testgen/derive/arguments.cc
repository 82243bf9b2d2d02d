#include "testgen/derive/arguments.h"

#include <sys/ptrace.h>
#include <sys/user.h>

#include <array>
#include <cstring>
#include <optional>

#include "agent/collector/target_memory.h"

namespace recrash {
namespace {

using Bytes = std::array<uint8_t, 16>;

std::optional<Bytes> ArgumentAt(const ReplayWord& word, const user_regs_struct& registers, const TargetMemory& memory) {
  const unsigned long long integers[] = {registers.rdi, registers.rsi, registers.rdx, registers.rcx,
                                         registers.r8,  registers.r9,  registers.r10};
  Bytes bytes{};
  if (word.location <= abi::Location::kR10 && word.size <= sizeof(uint64_t)) {
    memcpy(bytes.data(), &integers[static_cast<size_t>(word.location)], sizeof(uint64_t));
    return bytes;
  }
  const TargetAddress slot = {registers.rsp + sizeof(uint64_t) + word.stack_offset};
  if (word.location != abi::Location::kStack || word.size > bytes.size()) return std::nullopt;
  if (memory.Read(slot, {bytes.data(), word.size}) != word.size) return std::nullopt;
  return bytes;
}

}  // namespace

bool HasArgumentsOf(const ReplayFrame& frame, pid_t process) {
  user_regs_struct registers;
  const Result<TargetMemory> memory = TargetMemory::Open(process);
  if (!memory || ptrace(PTRACE_GETREGS, process, nullptr, &registers) != 0) return true;
  for (const ReplayWord& word : frame.words) {
    if (word.source != ValueSource::kRecord) continue;
    const std::optional<Bytes> now = ArgumentAt(word, registers, *memory);
    if (now && memcmp(now->data(), word.bytes.data(), word.size) != 0) return false;
  }
  return true;
}

}  // namespace recrash
