#include "testgen/symbols/replay_image.h"

#include <algorithm>
#include <span>

#include "agent/base/signal_safe/linker_tables.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;

using Bytes = std::span<const uint8_t>;

// The bytes of the segment, with zeros in place of tables.
std::vector<uint8_t> WithoutTables(const ElfImage& image, Bytes segment) {
  std::vector<uint8_t> left(segment.begin(), segment.end());
  for (const char* name : kLinkerTables) {
    const ElfSection* table = image.FindSection(name);
    if (!table || table->bytes.data() < segment.data()) continue;
    const auto offset = static_cast<size_t>(table->bytes.data() - segment.data());
    if (offset >= left.size()) continue;
    std::fill_n(left.begin() + offset, std::min(table->bytes.size(), left.size() - offset), 0);
  }
  return left;
}

// Runs of pages in which something is left, the first and the last as far as there are bytes of them.
void AddPages(TargetAddress address, Bytes left, std::vector<Region>* regions) {
  bool joins = false;
  for (size_t start = 0; start < left.size();) {
    const size_t size = std::min(left.size() - start, kPage - (address.value + start) % kPage);
    const Bytes page = left.subspan(start, size);
    const bool is_kept = std::ranges::any_of(page, [](uint8_t byte) { return byte != 0; });
    if (is_kept && !joins) regions->push_back({address + start, {}});
    if (is_kept) regions->back().bytes.insert(regions->back().bytes.end(), page.begin(), page.end());
    joins = is_kept;
    start += size;
  }
}

}  // namespace

std::vector<Region> ReadOnlyData(const LoadedModule& module) {
  const ElfImage& image = *module.image;
  const bool has_build_id = !module.image->build_id().empty();
  std::vector<Region> regions;
  for (const ElfLoad& load : image.facts().loads) {
    // Relocations do not change segments that cannot be written, so the file has the process's bytes.
    const Bytes segment = image.Bytes(load.vaddr, load.file_size);
    if (load.writable || segment.empty() || (load.executable && has_build_id)) continue;
    const TargetAddress address{load.vaddr + module.bias()};
    if (has_build_id)
      AddPages(address, WithoutTables(image, segment), &regions);
    else
      regions.push_back({address, {segment.begin(), segment.end()}});
  }
  return regions;
}

}  // namespace recrash
