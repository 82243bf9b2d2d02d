// From a stopped process and its CrashRecord to a report.
#ifndef RECRASH_AGENT_COLLECTOR_COLLECT_H_
#define RECRASH_AGENT_COLLECTOR_COLLECT_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "agent/report/writer.h"

namespace recrash {

// What the client says on the command line.
struct CollectRequest {
  pid_t pid = 0;
  pid_t tid = 0;
  TargetAddress record;  // 0: the process has not failed, and knows nothing of this
  std::string folder;
  TargetAddress abort_message;  // of libc's __abort_msg; 0 when not known
  TargetAddress snapshots;      // the version log; 0 when nothing was recorded
  TargetAddress marked;         // values that leave the process only masked; 0: there are none
  TargetAddress additions;      // notes, and files that the program names; 0: there are none
  std::string profile;          // that a crash of a second-chance build updates; empty: none
};

struct Collected {
  Report report;
  std::vector<uint8_t> minidump;  // empty if there is none
  // Memory that does not fit here beside the program. Null if there is none; while there is, all threads stand still.
  std::unique_ptr<LaterMemory> later;
};

// Stops all threads, reads everything, lets them go, or holds them as long as there is memory to be read later. What
// the program has marked is masked.
Result<Collected> Collect(const CollectRequest& request);

// Where the whole could not be written: of all memory, the innermost frames alone stay; no entry states, inputs,
// minidump.
void KeepInnermostFrames(const Error& why, Collected* collected);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_COLLECT_H_
