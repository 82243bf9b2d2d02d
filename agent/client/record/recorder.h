// Exact entry state: at the entry of a patched function (entry_hook.h) the pages that were written since the last one
// go into the version log, so that the memory of each live frame's entry can be put together after a crash.
#ifndef RECRASH_AGENT_CLIENT_RECORD_RECORDER_H_
#define RECRASH_AGENT_CLIENT_RECORD_RECORDER_H_

#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::record {

struct Settings {
  uint32_t cpu_percent;  // of the program's CPU time; 0: nothing is recorded
  uint32_t memory_mib;   // 0: nothing is recorded
  uint32_t pause_ms;     // the longest that a snapshot may take of its thread's CPU time
  uint32_t depth;        // of copies where the kernel tracks no writes; 0: nothing is recorded there
  bool adaptive;         // all functions are watched: snapshots by benefit, not by a profile
};

// Entries of patched functions are recorded from now on. `settings` must live as long as the process; it is read at
// each entry.
void StartRecording(const Settings* settings);

// Where the log lies that the collector is to read; 0: nothing was recorded in this process.
RECRASH_SIGNAL_SAFE uint64_t SnapshotLogAddress();

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_RECORDER_H_
