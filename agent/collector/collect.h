// From a stopped process and its CrashRecord to a report.
#ifndef RECRASH_AGENT_COLLECTOR_COLLECT_H_
#define RECRASH_AGENT_COLLECTOR_COLLECT_H_

#include <sys/types.h>

#include <string>

#include "agent/base/result.h"
#include "agent/collector/discretion.h"
#include "agent/report/report.h"
#include "shadowstack/abi.h"

namespace recrash {

// What the client says on the command line.
struct CollectRequest {
  pid_t pid = 0;
  pid_t tid = 0;
  TargetAddress record;
  std::string folder;
  TargetAddress abort_message;  // of libc's __abort_msg; 0 when not known
  TargetAddress snapshots;      // the version log; 0 when nothing was recorded
  TargetAddress marked;         // values that leave the process only masked; 0: there are none
  std::string profile;          // that a crash of a second-chance build updates; empty: none
};

struct Collected {
  abi::CrashRecord record;
  Report report;
  Discretion discretion;  // already applied to the report
};

// Stops all threads, reads everything, lets them go.
Result<Collected> Collect(const CollectRequest& request);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_COLLECT_H_
