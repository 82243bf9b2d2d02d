// The same crash as a minidump, for tools that read those.
#ifndef RECRASH_AGENT_COLLECTOR_MINIDUMP_H_
#define RECRASH_AGENT_COLLECTOR_MINIDUMP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/collector/discretion.h"
#include "agent/process/stopped_process.h"
#include "agent/process/target_memory.h"
#include "agent/report/report.h"
#include "shadowstack/abi.h"

namespace recrash {

// Empty if it cannot be made.
std::vector<uint8_t> MakeMinidump(const StoppedProcess& process, const PageSource& memory,
                                  const abi::CrashRecord& record);
// Memory that the report withholds becomes zero in it, values that are marked are masked.
void HideInMinidump(const std::vector<Mapping>& mappings, const Discretion& discretion, std::vector<uint8_t>* dump);
// The file appears complete or not at all.
Status WriteMinidump(const std::string& path, const std::vector<uint8_t>& dump);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_MINIDUMP_H_
