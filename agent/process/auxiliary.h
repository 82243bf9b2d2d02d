// The auxiliary vector: what the kernel told a process at its start.
#ifndef RECRASH_AGENT_PROCESS_AUXILIARY_H_
#define RECRASH_AGENT_PROCESS_AUXILIARY_H_

#include <sys/types.h>

#include <cstdint>

namespace recrash {

// `type` is AT_ENTRY, AT_PHDR...; 0 if the vector has no such entry.
uint64_t AuxiliaryValue(pid_t pid, uint64_t type);

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_AUXILIARY_H_
