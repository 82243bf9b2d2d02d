#include "testgen/derive/arguments.h"

#include <sys/ptrace.h>
#include <sys/user.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "agent/base/signal_safe/register_order.h"
#include "agent/process/proc_files.h"
#include "agent/process/target_memory.h"
#include "agent/report/maps.h"

namespace recrash {
namespace {

using Bytes = std::array<uint8_t, 16>;

// How far a block that was unmapped before the crash may lie from what is still mapped: the kernel maps blocks side by
// side.
constexpr uint64_t kUnmapped = 1ull << 30;

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

// The word is an address in a mapping, or at most `distance` away from one.
bool IsNear(const std::vector<Mapping>& mappings, const Bytes& word, uint64_t distance) {
  uint64_t address = 0;
  memcpy(&address, word.data(), sizeof address);
  return std::ranges::any_of(mappings, [=](const Mapping& mapping) {
    return address + distance >= mapping.start.value && address < mapping.end.value + distance;
  });
}

}  // namespace

std::optional<Registers> RegistersOf(pid_t process) {
  user_regs_struct integers;
  user_fpregs_struct vectors;
  if (ptrace(PTRACE_GETREGS, process, nullptr, &integers) != 0 ||
      ptrace(PTRACE_GETFPREGS, process, nullptr, &vectors) != 0)
    return std::nullopt;
  Registers registers;
  std::ranges::transform(kPtraceRegisters, registers.dwarf.begin(), [&](auto member) { return integers.*member; });
  registers.fs_base = integers.fs_base;
  registers.eflags = integers.eflags;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&vectors);
  registers.fxsave.assign(bytes, bytes + sizeof vectors);
  return registers;
}

std::optional<std::vector<ReplayWord>> ArgumentsAt(const Report& report, const ReplayFrame& frame, pid_t process) {
  user_regs_struct registers;
  const Result<TargetMemory> memory = TargetMemory::Open(process);
  if (!memory || ptrace(PTRACE_GETREGS, process, nullptr, &registers) != 0) return std::nullopt;
  const std::vector<Mapping> mappings = ParseMaps(ReadProcFile(process, "maps"));
  std::vector<ReplayWord> words = frame.words;
  for (ReplayWord& word : words) {
    const std::optional<Bytes> now = ArgumentAt(word, registers, *memory);
    if (!now || memcmp(now->data(), word.bytes.data(), word.size) == 0) continue;
    const bool is_address =
        word.size == sizeof(uint64_t) && IsNear(report.mappings, word.bytes, kUnmapped) && IsNear(mappings, *now, 0);
    if (is_address) {
      word.bytes = *now;
    } else if (word.source == ValueSource::kRecord) {
      return std::nullopt;
    }
  }
  return words;
}

}  // namespace recrash
