#include "testgen/symbols/replay_image.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string_view>

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

// Addresses of the module's own symbols by name, of those that `relocations` name.
std::map<std::string_view, uint64_t> AddressesOf(const ElfImage& image,
                                                 const std::map<uint64_t, ElfRelocation>& relocations) {
  std::map<std::string_view, uint64_t> addresses;
  for (const auto& [at, relocation] : relocations)
    if (!relocation.symbol.empty()) addresses.emplace(relocation.symbol, 0);
  if (addresses.empty()) return addresses;
  image.VisitSymbols([&](const ElfSymbol& symbol) {
    const auto found = addresses.find(symbol.name);
    if (found != addresses.end() && !symbol.is_thread_local) found->second = symbol.address;
  });
  return addresses;
}

// Constants that hold addresses, such as tables of functions, as the loader leaves them before it takes away the right
// to write. A report has no memory that cannot be written. An address in another module stays 0.
void AddRelocatedConstants(const LoadedModule& module, std::vector<Region>* regions) {
  const ElfImage& image = *module.image;
  const ElfSection* section = image.FindSection(".data.rel.ro");
  if (!section || section->bytes.empty()) return;
  for (const ElfLoad& load : image.facts().loads) {
    const Bytes segment = image.Bytes(load.vaddr, load.file_size);
    if (!load.writable || segment.empty() || section->bytes.data() < segment.data() ||
        section->bytes.data() >= segment.data() + segment.size())
      continue;
    const uint64_t start = load.vaddr + static_cast<uint64_t>(section->bytes.data() - segment.data());
    std::vector<uint8_t> bytes(section->bytes.begin(), section->bytes.end());
    const std::map<uint64_t, ElfRelocation> relocations = image.Relocations();
    const std::map<std::string_view, uint64_t> addresses = AddressesOf(image, relocations);
    for (auto at = relocations.lower_bound(start); at != relocations.end(); ++at) {
      const auto& [address, relocation] = *at;
      if (bytes.size() < sizeof(uint64_t) || address - start > bytes.size() - sizeof(uint64_t)) break;
      const uint64_t symbol = relocation.symbol.empty() ? 0 : addresses.at(relocation.symbol);
      const uint64_t target = symbol + static_cast<uint64_t>(relocation.addend);
      const uint64_t word = relocation.symbol.empty() || symbol != 0 ? target + module.bias() : 0;
      std::memcpy(bytes.data() + (address - start), &word, sizeof word);
    }
    regions->push_back({TargetAddress{start + module.bias()}, std::move(bytes)});
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
  AddRelocatedConstants(module, &regions);
  return regions;
}

}  // namespace recrash
