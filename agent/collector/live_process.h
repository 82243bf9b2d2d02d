// A process that has not failed, and that somebody wants to look into (recrash dump).
#ifndef RECRASH_AGENT_COLLECTOR_LIVE_PROCESS_H_
#define RECRASH_AGENT_COLLECTOR_LIVE_PROCESS_H_

#include "agent/process/target_memory.h"
#include "agent/report/report.h"
#include "shadowstack/abi.h"

namespace recrash {

// What a client would have said of the thread: a report that the process asked for.
abi::CrashRecord RecordOfLive(pid_t pid, const Thread& thread);

// What the client in the process keeps for others; zeros where the program has no client.
abi::ClientPlaces FindClient(const PageSource& memory, const Report& report);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_LIVE_PROCESS_H_
