// What a stopped process holds, and how that differs from the report that it left later.
#ifndef RECRASH_TESTGEN_RERUN_ENTRY_STATES_H_
#define RECRASH_TESTGEN_RERUN_ENTRY_STATES_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash {

struct Snapshot {
  uint32_t frame = 0;
  std::vector<Mapping> mappings;
  std::vector<OpenFile> files;
  std::vector<Region> memory;

  uint64_t size() const;
};

Result<Snapshot> TakeSnapshot(pid_t pid, uint32_t frame);

EntryState DifferenceTo(const Report& report, Snapshot snapshot);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_RERUN_ENTRY_STATES_H_
