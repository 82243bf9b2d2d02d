// Exact entry state: at the entry of a patched function (entry_hook.h) the pages that were written since the last one
// go into the version log, so that the memory of each live frame's entry can be put together after a crash.
#ifndef RECRASH_AGENT_CLIENT_RECORD_RECORDER_H_
#define RECRASH_AGENT_CLIENT_RECORD_RECORDER_H_

#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::record {

// Where the log lies that the collector is to read; 0: nothing was recorded in this process.
RECRASH_SIGNAL_SAFE uint64_t SnapshotLogAddress();

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_RECORDER_H_
