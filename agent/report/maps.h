// The text of /proc/PID/maps as mappings.
#ifndef RECRASH_AGENT_REPORT_MAPS_H_
#define RECRASH_AGENT_REPORT_MAPS_H_

#include <span>
#include <string_view>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// Leaves out lines that are not mappings, such as the last line of a text that was cut.
std::vector<Mapping> ParseMaps(std::string_view text);

// The mapping that holds `address`; null if none does. REQUIRES: `mappings` ascend, as /proc/PID/maps does.
const Mapping* FindMapping(std::span<const Mapping> mappings, TargetAddress address);

// The process may write there, and no other process sees it.
inline bool IsPrivateWritable(const Mapping& mapping) {
  return (mapping.flags & kMapWrite) && !(mapping.flags & kMapShared);
}

// A private writable mapping holds the address.
bool IsWritable(std::span<const Mapping> mappings, TargetAddress address);

// The parts of the private writable mappings of `then` where `now`, which ascends, has no mapping.
std::vector<Mapping> GoneMappings(const std::vector<Mapping>& then, const std::vector<Mapping>& now);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_MAPS_H_
