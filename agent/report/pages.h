// Memory page by page: regions taken apart, and put together again.
#ifndef RECRASH_AGENT_REPORT_PAGES_H_
#define RECRASH_AGENT_REPORT_PAGES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// By address; the bytes are those of the regions that the pages come from.
using Pages = std::map<uint64_t, const uint8_t*>;

// Over what is there already.
void LayPages(const std::vector<Region>& regions, Pages* pages);

// Ascending, as few as there can be.
std::vector<Region> JoinPages(const Pages& pages);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_PAGES_H_
