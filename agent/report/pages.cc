#include "agent/report/pages.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

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

}  // namespace recrash
