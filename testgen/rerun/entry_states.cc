#include "testgen/rerun/entry_states.h"

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

// Pages that differ, by address. What was not there yet at the entry is zero: memory that nobody had touched.
Pages Changed(const Snapshot& snapshot, const Report& report) {
  static constexpr std::array<uint8_t, kPageSize> kZeros{};
  Pages then;
  Pages later;
  LayPages(snapshot.memory, &then);
  LayPages(report.memory, &later);
  Pages changed;
  for (const auto& [address, bytes] : then) {
    const auto found = later.find(address);
    if (found == later.end() || memcmp(found->second, bytes, kPageSize) != 0) changed[address] = bytes;
  }
  for (const auto& [address, bytes] : later) {
    const auto inside = [page = address](const Mapping& mapping) {
      return IsPrivateWritable(mapping) && page >= mapping.start.value && page < mapping.end.value;
    };
    if (!then.contains(address) && std::ranges::any_of(snapshot.mappings, inside)) changed[address] = kZeros.data();
  }
  return changed;
}

std::vector<TargetAddress> NotLoaded(const Snapshot& snapshot, const Report& report) {
  std::vector<TargetAddress> bases;
  for (const Module& module : report.modules) {
    const auto is_it = [&](const Mapping& mapping) {
      return mapping.start <= module.base && module.base < mapping.end && mapping.path == module.path;
    };
    if (std::ranges::none_of(snapshot.mappings, is_it)) bases.push_back(module.base);
  }
  return bases;
}

}  // namespace

uint64_t Snapshot::size() const {
  uint64_t bytes = 0;
  for (const Region& region : memory) bytes += region.bytes.size();
  return bytes;
}

Result<Snapshot> TakeSnapshot(pid_t pid, uint32_t frame) {
  Result<TargetMemory> memory = TargetMemory::Open(pid);
  if (!memory) return memory.error();
  Snapshot snapshot;
  snapshot.frame = frame;
  snapshot.mappings = ParseMaps(ReadProcFile(pid, "maps"));
  snapshot.files = ReadOpenFiles(pid);
  MemoryRequest request;
  request.limit = kMostMemory;
  request.modules = ModulesFromMappings(snapshot.mappings, ReadProcLink(pid, "exe"));
  KeptMemory kept = KeepMemory(*memory, snapshot.mappings, request);
  if (!kept.complete) return Error{Errc::kRefused, "its memory is too large"};
  snapshot.memory = std::move(kept.regions);
  return snapshot;
}

EntryState DifferenceTo(const Report& report, Snapshot snapshot) {
  EntryState state;
  state.frame = snapshot.frame;
  const auto heap = std::ranges::find(snapshot.mappings, "[heap]", &Mapping::path);
  state.brk_end = heap == snapshot.mappings.end() ? report.process.brk_start : heap->end;
  state.mappings = GoneMappings(snapshot.mappings, report.mappings);
  state.not_loaded = NotLoaded(snapshot, report);
  state.memory = JoinPages(Changed(snapshot, report));
  state.files = std::move(snapshot.files);
  return state;
}

}  // namespace recrash
