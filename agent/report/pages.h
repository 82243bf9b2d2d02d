// Memory page by page: regions taken apart, and put together again.
#ifndef RECRASH_AGENT_REPORT_PAGES_H_
#define RECRASH_AGENT_REPORT_PAGES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// Pages by address. The bytes belong to the regions that the pages come from, which must live longer.
using Pages = std::map<uint64_t, const uint8_t*>;

// Adds the pages of `regions`; a page that is there already is replaced.
void LayPages(const std::vector<Region>& regions, Pages* pages);

// The pages as regions, ascending; neighbours become one region.
std::vector<Region> JoinPages(const Pages& pages);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_PAGES_H_
