#include "testgen/verify/unused_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>

#include "agent/report/maps.h"
#include "agent/report/modules.h"
#include "agent/report/pages.h"
#include "testgen/replay/plan/load_order.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kWord = sizeof(uint64_t);

// agent/client/threads.cc: guard page, stack, block, copy of a stack. The block is smaller than a page.
constexpr uint64_t kAlternateStack = 64 << 10;

// glibc's `struct unique_sym`: hash, name, symbol, link_map.
using UniqueSymbol = std::array<uint64_t, 4>;
constexpr uint64_t kAlignment = 16;
// Fewer may be chance.
constexpr size_t kFewestSymbols = 8;

bool IsAnonymous(const Report& report, TargetAddress address) {
  const Mapping* mapping = report.FindMapping(address);
  return mapping && mapping->path.empty() && !report.FindModule(address);
}

// The end of the block's mapping, if there is such a block above the guard page that ends at `stack`.
std::optional<TargetAddress> EndOfBlock(const Report& report, TargetAddress stack) {
  const TargetAddress block = stack + kAlternateStack;
  for (uint64_t offset = 0; offset + 3 * kWord <= kPage; offset += kWord) {
    const TargetAddress at = block + offset;
    if (report.ReadWord(at + 2 * kWord) != stack.value || report.ReadWord(at) != (stack - kPage).value) continue;
    const uint64_t size = report.ReadWord(at + kWord).value_or(0);
    const bool is_whole = size % kPage == 0 && size > 2 * kPage + kAlternateStack && size < UINT64_MAX - stack.value;
    if (is_whole) return stack - kPage + size;
  }
  return std::nullopt;
}

bool IsInUse(const TestReport& report, const UnusedRange& stack) {
  const auto is_there = [&](TargetAddress address) { return address >= stack.start && address < stack.end; };
  return std::ranges::any_of(report.threads, [&](const Thread& one) { return is_there({one.registers.sp()}); }) ||
         std::ranges::any_of(report.replay.frames, is_there, &ReplayFrame::entry_sp);
}

class UniqueSymbolFinder {
 public:
  UniqueSymbolFinder(const Report& report, const std::vector<TargetAddress>& maps)
      : report_(report), maps_(maps.begin(), maps.end()) {}

  std::vector<TargetAddress> In(const std::vector<Region>& memory) const {
    std::vector<TargetAddress> found;
    for (const Region& region : memory) {
      if (region.address.value % kAlignment != 0 || !IsAnonymous(report_, region.address)) continue;
      for (size_t at = 0; at + sizeof(UniqueSymbol) <= region.bytes.size();) {
        UniqueSymbol symbol;
        std::memcpy(&symbol, &region.bytes[at], sizeof symbol);
        const bool is_one = IsOne(symbol);
        if (is_one) found.push_back(region.address + at);
        at += is_one ? sizeof symbol : kAlignment;
      }
    }
    if (found.size() < kFewestSymbols) found.clear();
    return found;
  }

 private:
  bool IsOne(const UniqueSymbol& symbol) const {
    const auto [hash, name, place, map] = symbol;
    if (hash == 0 || hash > UINT32_MAX || !maps_.contains({map})) return false;
    const Module* module = report_.FindModule({name});
    return module && module == report_.FindModule({place});
  }

  const Report& report_;
  std::set<TargetAddress> maps_;
};

class Remover {
 public:
  explicit Remover(TestReport* report)
      : report_(report), ranges_(MemoryOfClient(*report)), finder_(*report, LinkMaps(*report)) {
    const auto loader = std::ranges::find_if(report->modules, IsLoader);
    if (loader != report->modules.end()) ranges_.push_back({loader->base, loader->base + loader->size});
  }

  void Run() {
    for (EntryState& state : report_->replay.entry_states)
      state.memory = EntryMemory(Without(JoinPages(PagesOf(*report_, state))));
    report_->memory = Without(std::move(report_->memory));
  }

 private:
  static std::vector<TargetAddress> LinkMaps(const Report& report) {
    return recrash::LinkMaps(report, FindDebuggersList(report));
  }

  std::vector<Region> Without(std::vector<Region> memory) const {
    for (const UnusedRange& range : ranges_) memory = Outside(std::move(memory), range.start, range.end);
    ClearUniqueSymbols(finder_.In(memory), &memory);
    return memory;
  }

  TestReport* report_;
  std::vector<UnusedRange> ranges_;
  UniqueSymbolFinder finder_;
};

}  // namespace

std::vector<UnusedRange> MemoryOfClient(const TestReport& report) {
  std::vector<UnusedRange> ranges;
  for (const Mapping& guard : report.mappings) {
    if (guard.flags & (kMapRead | kMapWrite | kMapExecute)) continue;
    const std::optional<TargetAddress> end = EndOfBlock(report, guard.end);
    if (!end) continue;
    const TargetAddress block = guard.end + kAlternateStack;
    const UnusedRange stack{guard.end, block};
    if (!IsInUse(report, stack)) ranges.push_back(stack);
    ranges.push_back({block + kPage, *end});
  }
  return ranges;
}

std::vector<TargetAddress> UniqueSymbols(const Report& report, const std::vector<TargetAddress>& maps) {
  return UniqueSymbolFinder(report, maps).In(report.memory);
}

void ClearUniqueSymbols(const std::vector<TargetAddress>& symbols, std::vector<Region>* memory) {
  auto region = memory->begin();
  for (const TargetAddress symbol : symbols) {
    while (region != memory->end() && region->address + region->bytes.size() <= symbol) ++region;
    if (region == memory->end() || symbol < region->address) continue;
    std::memset(&region->bytes[symbol - region->address], 0, sizeof(UniqueSymbol));
  }
}

void LeaveOutUnusedMemory(TestReport* report) { Remover(report).Run(); }

}  // namespace recrash
