#include "agent/report/pages.h"

#include <memory>

#include "agent/base/signal_safe/pages.h"
#include "agent/report/maps.h"

namespace recrash {
using signal_safe::kPage;

void LayPages(const std::vector<Region>& regions, Pages* pages) {
  for (const Region& region : regions) {
    for (uint64_t offset = 0; offset + kPage <= region.bytes.size(); offset += kPage)
      (*pages)[region.address.value + offset] = region.bytes.data() + offset;
  }
}

std::vector<Region> JoinPages(const Pages& pages) {
  std::vector<Region> regions;
  for (const auto& [address, bytes] : pages) {
    if (regions.empty() || regions.back().address.value + regions.back().bytes.size() != address)
      regions.push_back({{address}, {}});
    regions.back().bytes.insert(regions.back().bytes.end(), bytes, bytes + kPage);
  }
  return regions;
}

Pages PagesOf(const Report& report, const EntryState& state) {
  Pages pages;
  const std::span layers = state.memory.layers();
  for (size_t i = layers.size(); i > 1; --i) LayPages(layers[i - 1], &pages);
  // What was not mapped at this entry is of a later one alone.
  std::erase_if(pages, [&](const auto& page) {
    return !IsWritable(state.mappings, {page.first}) && !IsWritable(report.mappings, {page.first});
  });
  LayPages(state.memory.own(), &pages);
  return pages;
}

std::vector<PageSpan> SpansOf(const Pages& pages) {
  std::vector<PageSpan> spans;
  for (const auto& [address, bytes] : pages) {
    const bool goes_on = !spans.empty() && spans.back().address.value + spans.back().bytes.size() == address &&
                         std::to_address(spans.back().bytes.end()) == bytes;
    if (goes_on) {
      spans.back().bytes = {spans.back().bytes.data(), spans.back().bytes.size() + kPage};
    } else {
      spans.push_back({{address}, {bytes, kPage}});
    }
  }
  return spans;
}

void ChangeLayers(std::vector<EntryState>* states, const std::function<void(EntryMemory::Layer*)>& change) {
  std::vector<EntryMemory::Layer> layers;
  for (const EntryState& state : *states) change(&layers.emplace_back(state.memory.own()));
  std::vector<EntryMemory> memories = EntryMemory::Of(std::move(layers));
  for (size_t i = 0; i < memories.size(); ++i) (*states)[i].memory = std::move(memories[i]);
}

}  // namespace recrash
