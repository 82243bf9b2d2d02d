// Memory page by page: regions taken apart, and put together again.
#ifndef RECRASH_AGENT_REPORT_PAGES_H_
#define RECRASH_AGENT_REPORT_PAGES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// Pages by address. The bytes belong to the regions that the pages come from, which must live longer.
using Pages = std::map<uint64_t, const uint8_t*>;

// Adds the pages of `regions`; a page that is there already is replaced.
void LayPages(const std::vector<Region>& regions, Pages* pages);

// The pages as regions, ascending; neighbours become one region.
std::vector<Region> JoinPages(const Pages& pages);

// The pages of the state's memory, where they differ from the crash. They belong to the state.
Pages PagesOf(const Report& report, const EntryState& state);

// Changes the pages of the states that one program recorded: each layer once.
void ChangeLayers(std::vector<EntryState>* states, const std::function<void(EntryMemory::Layer*)>& change);

// The pages as they lie in memory, ascending: neighbours there become one span. Nothing is copied.
struct PageSpan {
  TargetAddress address;
  std::span<const uint8_t> bytes;
};
std::vector<PageSpan> SpansOf(const Pages& pages);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_PAGES_H_
