// The same crash as a minidump, for tools that read those.
#ifndef RECRASH_AGENT_COLLECTOR_MINIDUMP_H_
#define RECRASH_AGENT_COLLECTOR_MINIDUMP_H_

#include <string>

#include "agent/base/result.h"
#include "agent/collector/collect.h"

namespace recrash {

// REQUIRES: nobody holds the threads, since Breakpad stops them itself. The file appears complete or not at all. Memory
// that the report withholds is zero in it, values that are marked are masked.
Status WriteMinidump(const std::string& path, const Collected& crash);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_MINIDUMP_H_
