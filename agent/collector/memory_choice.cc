#include "agent/collector/memory_choice.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace recrash {
namespace {

constexpr uint64_t kWordsInPage = kPageSize / sizeof(uint64_t);
// Of a stack that is not the failing one: enough for its innermost frames.
constexpr uint64_t kOtherStack = 64 << 10;

bool IsPrivateWritable(const Mapping& mapping) {
  return (mapping.flags & (kMapRead | kMapWrite | kMapShared)) == (kMapRead | kMapWrite);
}

bool IsFile(const Mapping& mapping) { return mapping.path.starts_with('/'); }

// A private writable mapping with what is there and what is to be kept.
struct Pages {
  const Mapping* mapping;
  std::vector<bool> present;
  std::vector<bool> keep;

  uint64_t CountPresent() const { return static_cast<uint64_t>(std::ranges::count(present, true)); }
  TargetAddress Address(uint64_t page) const { return mapping->start + page * kPageSize; }
};

struct PageNumber {
  size_t mapping;
  uint64_t page;
};

class Choice {
 public:
  Choice(const PageSource& source, std::span<const Mapping> mappings) : source_(source) {
    for (const Mapping& mapping : mappings) {
      if (!IsPrivateWritable(mapping)) continue;
      std::vector<bool> present = source.Present(mapping);
      const size_t count = present.size();
      all_.push_back({&mapping, std::move(present), std::vector<bool>(count, false)});
    }
  }

  uint64_t PresentBytes() const {
    uint64_t pages = 0;
    for (const Pages& pages_of_one : all_) pages += pages_of_one.CountPresent();
    return pages * kPageSize;
  }

  void KeepEverything() {
    for (Pages& pages : all_) pages.keep = pages.present;
  }

  void KeepWithin(const MemoryRequest& request) {
    kept_ = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (IsFile(*all_[i].mapping)) KeepRange(i, 0, all_[i].present.size());
    }
    if (!request.registers.empty()) KeepStack(request.registers.front(), UINT64_MAX);
    limit_ = request.limit / kPageSize;
    for (const Registers& registers : request.registers) {
      KeepStack(registers, kOtherStack);
      for (const uint64_t word : registers.dwarf) Reach(word);
    }
    Follow();
  }

  KeptMemory Read() const {
    KeptMemory memory;
    for (const Pages& pages : all_) {
      for (uint64_t first = 0; first < pages.keep.size();) {
        if (!pages.keep[first]) {
          ++first;
          continue;
        }
        uint64_t end = first;
        while (end < pages.keep.size() && pages.keep[end]) ++end;
        ReadRun(pages, first, end, &memory);
        first = end;
      }
    }
    return memory;
  }

 private:
  // Pages of a run that cannot be read (a file shorter than its mapping) are skipped.
  void ReadRun(const Pages& pages, uint64_t first, uint64_t end, KeptMemory* memory) const {
    while (first < end) {
      Region region = {pages.Address(first), std::vector<uint8_t>((end - first) * kPageSize)};
      const size_t got = source_.Read(region.address, region.bytes) / kPageSize * kPageSize;
      region.bytes.resize(got);
      if (got != 0) memory->regions.push_back(std::move(region));
      first += got / kPageSize;
      if (first == end) return;
      memory->losses.push_back("a page of " + (pages.mapping->path.empty() ? "memory" : pages.mapping->path) +
                               " could not be read");
      ++first;
    }
  }

  void Keep(size_t mapping, uint64_t page) {
    Pages& pages = all_[mapping];
    if (!pages.present[page] || pages.keep[page] || kept_ >= limit_) return;
    pages.keep[page] = true;
    ++kept_;
    queue_.push_back({mapping, page});
  }

  void KeepRange(size_t mapping, uint64_t first, uint64_t end) {
    for (uint64_t page = first; page < end; ++page) Keep(mapping, page);
  }

  // From the stack pointer (less the red zone) upwards; a pointer below all pages means an overflow, and then the whole
  // mapping above it counts.
  void KeepStack(const Registers& registers, uint64_t most) {
    const TargetAddress low = {registers.sp() - std::min<uint64_t>(registers.sp(), 128)};
    for (size_t i = 0; i < all_.size(); ++i) {
      const Mapping& mapping = *all_[i].mapping;
      if (low >= mapping.end || low + kPageSize + 128 < mapping.start) continue;
      const uint64_t first = low < mapping.start ? 0 : (low - mapping.start) / kPageSize;
      const uint64_t pages = all_[i].present.size();
      KeepRange(i, first, std::min(pages, most == UINT64_MAX ? pages : first + most / kPageSize));
      return;
    }
  }

  void Reach(uint64_t word) {
    auto next = std::ranges::upper_bound(all_, TargetAddress{word}, {},
                                         [](const Pages& pages) { return pages.mapping->start; });
    if (next == all_.begin()) return;
    const Pages& pages = *std::prev(next);
    if (TargetAddress{word} >= pages.mapping->end) return;
    Keep(static_cast<size_t>(std::prev(next) - all_.begin()), (TargetAddress{word} - pages.mapping->start) / kPageSize);
  }

  // Breadth first: what is one pointer away comes before what is two away. An object may go on in the next page, which
  // no pointer names, so that counts as one step as well.
  void Follow() {
    uint64_t words[kWordsInPage];
    while (!queue_.empty() && kept_ < limit_) {
      const PageNumber at = queue_.front();
      queue_.pop_front();
      const Pages& pages = all_[at.mapping];
      auto* bytes = reinterpret_cast<uint8_t*>(words);
      if (source_.Read(pages.Address(at.page), {bytes, kPageSize}) != kPageSize) continue;
      for (const uint64_t word : words) Reach(word);
      if (at.page + 1 < pages.present.size()) Keep(at.mapping, at.page + 1);
    }
  }

  const PageSource& source_;
  std::vector<Pages> all_;
  std::deque<PageNumber> queue_;
  uint64_t kept_ = 0;
  uint64_t limit_ = UINT64_MAX;
};

}  // namespace

KeptMemory KeepMemory(const PageSource& source, std::span<const Mapping> mappings, const MemoryRequest& request) {
  Choice choice(source, mappings);
  const uint64_t present = choice.PresentBytes();
  if (present <= request.limit) {
    choice.KeepEverything();
    return choice.Read();
  }
  choice.KeepWithin(request);
  KeptMemory memory = choice.Read();
  uint64_t kept = 0;
  for (const Region& region : memory.regions) kept += region.bytes.size();
  memory.complete = kept >= present;
  if (!memory.complete)
    memory.losses.push_back("of " + std::to_string(present >> 20) + " MiB of memory the nearest " +
                            std::to_string(kept >> 20) + " MiB were kept (RECRASH_OPTIONS=memory=MiB)");
  return memory;
}

}  // namespace recrash
