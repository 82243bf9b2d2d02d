// The code of a failing process: which bits of it are not as in its files, and what of it a report keeps.
#ifndef RECRASH_AGENT_COLLECTOR_CODE_H_
#define RECRASH_AGENT_COLLECTOR_CODE_H_

#include <sys/types.h>

#include "agent/process/target_memory.h"
#include "agent/report/report.h"
#include "agent/store/stack_walk.h"

namespace recrash {

// Fills report->code. Only pages that the process has a copy of are compared: the kernel makes one when something
// writes there. A bit that flipped in a page that processes share lies in the file's cached page, too: the kept code,
// around the places of `stack`, lets the desk compare with another file.
// REQUIRES: report has mappings, modules and threads.
void ReadCode(const TargetMemory& memory, pid_t pid, const WalkedStack& stack, Report* report);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_CODE_H_
