// Records entry states: at the entry of a patched function (entry_hook.h) it copies the pages that were written since
// the last snapshot into the version log. After a crash the collector rebuilds the memory of each live frame's entry
// from it.
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

// Returns the address of the log for the collector; 0 if nothing was recorded in this process.
RECRASH_SIGNAL_SAFE uint64_t SnapshotLogAddress(int32_t process);

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_RECORDER_H_
