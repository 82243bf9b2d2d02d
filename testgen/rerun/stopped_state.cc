#include "testgen/rerun/stopped_state.h"

#include <sys/ptrace.h>
#include <sys/user.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "agent/process/memory_choice.h"
#include "agent/process/proc_files.h"
#include "agent/process/target_memory.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"
#include "agent/report/pages.h"

namespace recrash {
namespace {

constexpr uint64_t kMostMemory = 1ull << 30;

// The pages that differ. A page that was mapped at the entry and had no content yet was zeros.
Pages Changed(const EntryState& state, const Report& report) {
  static constexpr std::array<uint8_t, kPageSize> kZeros{};
  Pages then;
  Pages later;
  LayPages(state.memory.own(), &then);
  LayPages(report.memory, &later);
  Pages changed;
  for (const auto& [address, bytes] : then) {
    const auto found = later.find(address);
    if (found == later.end() || memcmp(found->second, bytes, kPageSize) != 0) changed[address] = bytes;
  }
  for (const auto& [address, bytes] : later) {
    if (!then.contains(address) && IsWritable(state.mappings, {address})) changed[address] = kZeros.data();
  }
  return changed;
}

std::vector<TargetAddress> NotLoaded(const EntryState& state, const Report& report) {
  std::vector<TargetAddress> bases;
  for (const Module& module : report.modules) {
    const auto is_it = [&](const Mapping& mapping) {
      return mapping.start <= module.base && module.base < mapping.end && mapping.path == module.path;
    };
    if (std::ranges::none_of(state.mappings, is_it)) bases.push_back(module.base);
  }
  return bases;
}

// Zero where the thread does not tell them: then they are no frame's.
EntryRegisters RegistersOf(pid_t thread, const FrameEntry& frame) {
  user_regs_struct registers{};
  user_fpregs_struct vectors{};
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0 ||
      ptrace(PTRACE_GETFPREGS, thread, nullptr, &vectors) != 0)
    return {};
  EntryRegisters at_entry = {{registers.rdi, registers.rsi, registers.rdx, registers.rcx, registers.r8, registers.r9},
                             {},
                             frame.entry,
                             frame.sp};
  memcpy(at_entry.vector, vectors.xmm_space, sizeof at_entry.vector);
  return at_entry;
}

}  // namespace

Result<EntryState> TakeState(const TracedProgram& program, const FrameEntry& frame) {
  const pid_t pid = program.pid();
  Result<TargetMemory> memory = TargetMemory::Open(pid);
  if (!memory) return memory.error();
  EntryState state;
  state.origin = Origin::kRerun;
  state.frame = frame.frame;
  state.registers = RegistersOf(program.stopped(), frame);
  state.mappings = ParseMaps(ReadProcFile(pid, "maps"));
  state.files = ReadOpenFiles(pid);
  MemoryRequest request;
  request.limit = kMostMemory;
  request.modules = ModulesFromMappings(state.mappings, ReadProcLink(pid, "exe"));
  KeptMemory kept = KeepMemory(*memory, state.mappings, request);
  if (!kept.complete) return Error{Errc::kRefused, "its memory is too large"};
  state.memory = std::move(kept.regions);
  return state;
}

EntryState DifferenceTo(const Report& report, EntryState state) {
  const auto heap = std::ranges::find(state.mappings, "[heap]", &Mapping::path);
  state.brk_end = heap == state.mappings.end() ? report.process.brk_start : heap->end;
  state.not_loaded = NotLoaded(state, report);
  state.memory = JoinPages(Changed(state, report));
  state.mappings = GoneMappings(state.mappings, report.mappings);
  return state;
}

}  // namespace recrash
