// What /proc tells of a process, each file read whole or not at all.
#ifndef RECRASH_AGENT_PROCESS_PROC_FILES_H_
#define RECRASH_AGENT_PROCESS_PROC_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// "/proc/PID/name".
std::string ProcPath(pid_t pid, std::string_view name);
// Empty when it cannot be read.
std::string ReadProcFile(pid_t pid, std::string_view name);
std::string ReadProcLink(pid_t pid, std::string_view name);

std::vector<pid_t> ThreadIds(pid_t pid);
std::string ThreadName(pid_t pid, pid_t tid);
// What of them could not be read goes into `losses`, where there are any.
std::vector<OpenFile> ReadOpenFiles(pid_t pid, std::vector<std::string>* losses = nullptr);
// Whether the process was started by `ancestor`, or by what that has started.
bool IsDescendant(pid_t process, pid_t ancestor);
// User and system time of the process in nanoseconds; 0 when there is none.
uint64_t CpuTime(pid_t pid);
// What the kernel told the process at its start: `type` is AT_ENTRY, AT_PHDR...; 0 if there is none of it.
uint64_t AuxiliaryValue(pid_t pid, uint64_t type);
// pos and flags of /proc/PID/fdinfo/N.
void ParseFdInfo(std::string_view text, OpenFile* file);

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_PROC_FILES_H_
