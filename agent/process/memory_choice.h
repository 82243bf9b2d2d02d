// Which pages of the dying process a report keeps.
//
// Within the limit: all present pages of private writable mappings. Beyond it:
// 1. the failing stack and the modules' data, whatever their size;
// 2. pages that words of kept pages point to, nearest first. A quarter of the limit is reserved for these.
#ifndef RECRASH_AGENT_PROCESS_MEMORY_CHOICE_H_
#define RECRASH_AGENT_PROCESS_MEMORY_CHOICE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/process/target_memory.h"
#include "agent/report/report.h"

namespace recrash {

struct MemoryRequest {
  uint64_t limit = 64ull << 20;
  // Of what is kept, how much may be held here. If there is more, the failing stack alone is held.
  uint64_t held = UINT64_MAX;
  std::vector<Registers> registers;  // of all threads, the failing one first
  std::vector<Module> modules;       // their file-backed data is kept whole
};

struct KeptMemory {
  std::vector<Region> regions;  // ascending
  std::vector<PageRun> later;   // kept as well, ascending, to be read when they are written
  bool complete = true;
  std::vector<std::string> losses;
};

KeptMemory KeepMemory(const PageSource& source, std::span<const Mapping> mappings, const MemoryRequest& request);

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_MEMORY_CHOICE_H_
