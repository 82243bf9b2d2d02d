// The text of /proc/PID/maps as mappings.
#ifndef RECRASH_AGENT_REPORT_MAPS_H_
#define RECRASH_AGENT_REPORT_MAPS_H_

#include <string_view>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// Lines that are not mappings (the last one of a text that was cut) are left out.
std::vector<Mapping> ParseMaps(std::string_view text);

// A process may write there, and nobody else sees it.
inline bool IsPrivateWritable(const Mapping& mapping) {
  return (mapping.flags & kMapWrite) && !(mapping.flags & kMapShared);
}

// The parts of private writable mappings of `then` that nothing is mapped at in `now`, which ascends.
std::vector<Mapping> GoneMappings(const std::vector<Mapping>& then, const std::vector<Mapping>& now);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_MAPS_H_
