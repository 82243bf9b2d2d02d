// The text of /proc/PID/maps, or smaps, as mappings.
#ifndef RECRASH_AGENT_REPORT_MAPS_H_
#define RECRASH_AGENT_REPORT_MAPS_H_

#include <span>
#include <string_view>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// Leaves out lines that are not mappings, such as the last line of a text that was cut. The text may be smaps as well:
// then private writable memory that the program excludes from core dumps is withheld.
std::vector<Mapping> ParseMaps(std::string_view text);

// The mapping that holds `address`; null if none does. REQUIRES: `mappings` ascend, as /proc/PID/maps does.
const Mapping* FindMapping(std::span<const Mapping> mappings, TargetAddress address);

// The process may write there, no other process sees it, and it is not withheld.
inline bool IsPrivateWritable(const Mapping& mapping) {
  return (mapping.flags & (kMapWrite | kMapShared | kMapWithheld)) == kMapWrite;
}

// A private writable mapping holds the address.
bool IsWritable(std::span<const Mapping> mappings, TargetAddress address);

// The parts of the private writable mappings of `then` where `now`, which ascends, has no mapping.
std::vector<Mapping> GoneMappings(const std::vector<Mapping>& then, const std::vector<Mapping>& now);

// ---- What is withheld: memory that a report leaves out on purpose. The program excludes it from core dumps
// (MADV_DONTDUMP, PR_SET_DUMPABLE), or somebody took it out before the report was passed on. Its mapping says so
// (kMapWithheld). A replay that touches it decides nothing, whereas memory that had never been touched is zero.

// Marks the pages of [start, end) in private writable mappings, which are cut where only a part of them is withheld.
void Withhold(TargetAddress start, TargetAddress end, std::vector<Mapping>* mappings);

// Takes out of the report what lies there: memory, entry states, the stack of a throw.
void DropWithheld(Report* report);
void DropWithheld(TestReport* report);

// `regions` without what lies in [start, end).
std::vector<Region> Outside(std::vector<Region> regions, TargetAddress start, TargetAddress end);

// `regions`, none of which goes beyond the end of the mapping that it begins in: neighbours are put back one by one.
// REQUIRES: both ascend.
std::vector<Region> CutAtMappings(std::vector<Region> regions, std::span<const Mapping> mappings);

uint64_t WithheldBytes(const std::vector<Mapping>& mappings);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_MAPS_H_
