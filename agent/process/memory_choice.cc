#include "agent/process/memory_choice.h"

#include <algorithm>
#include <cstring>
#include <deque>

#include "agent/base/signal_safe/left_out.h"
#include "agent/report/maps.h"

namespace recrash {
namespace {

constexpr uint64_t kWordsInPage = kPageSize / sizeof(uint64_t);
// What is kept of another thread's stack: enough for its innermost frames.
constexpr uint64_t kOtherStack = 64 << 10;
// One part of this many of the limit is reserved for pages that are reached, whatever the failing stack takes.
constexpr uint64_t kReachedShare = 4;

// A run of present pages, and which of them to keep.
struct Pages {
  const Mapping* mapping;
  PageRun run;
  bool module_data;  // of a program's or library's file
  std::vector<bool> keep;

  TargetAddress Address(uint64_t page) const { return run.start + page * kPageSize; }
  TargetAddress end() const { return Address(run.pages); }
};

struct PageNumber {
  size_t run;
  uint64_t page;
};

class Choice {
 public:
  Choice(const PageSource& source, std::span<const Mapping> mappings, const MemoryRequest& request)
      : source_(source), request_(request) {
    for (const Mapping& mapping : mappings) {
      if (IsPrivateWritable(mapping) && (mapping.flags & kMapRead)) Add(mapping);
    }
  }

  uint64_t PresentBytes() const {
    uint64_t pages = 0;
    for (const Pages& run : all_) pages += run.run.pages;
    return pages * kPageSize;
  }

  void KeepEverything() {
    for (Pages& pages : all_) pages.keep.assign(pages.run.pages, true);
  }

  void KeepWithin() {
    kept_ = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].module_data) KeepRange(i, 0, all_[i].run.pages);
    }
    if (!request_.registers.empty()) KeepStack(request_.registers.front(), UINT64_MAX);
    // An overflowed stack may be as large as the limit, and without heap and globals nothing of it can be replayed.
    const uint64_t limit = request_.limit / kPageSize;
    limit_ = std::max(limit, kept_ + limit / kReachedShare);
    for (const Registers& registers : request_.registers) {
      KeepStack(registers, kOtherStack);
      for (const uint64_t word : registers.dwarf) Reach(word);
    }
    Follow();
  }

  KeptMemory Read() const {
    KeptMemory memory;
    memory.losses = losses_;
    const bool held = KeptBytes() <= request_.held;
    const TargetAddress failing = {request_.registers.empty() ? 0 : request_.registers.front().sp()};
    for (const Pages& pages : all_) {
      const bool is_failing_stack = failing >= pages.mapping->start && failing < pages.mapping->end;
      for (uint64_t first = 0; first < pages.keep.size();) {
        if (!pages.keep[first]) {
          ++first;
          continue;
        }
        uint64_t end = first;
        while (end < pages.keep.size() && pages.keep[end]) ++end;
        if (held || is_failing_stack)
          ReadRun(pages, first, end, &memory);
        else
          TakeLater(pages, first, end, &memory);
        first = end;
      }
    }
    return memory;
  }

  bool left_out() const { return !losses_.empty(); }

 private:
  bool IsModuleData(const Mapping& mapping) const {
    return mapping.path.starts_with('/') && std::ranges::any_of(request_.modules, [&](const Module& module) {
             return mapping.start >= module.base && mapping.start < module.base + module.size;
           });
  }

  // A module's data counts as present whole: reading brings it in, and its file does not know what was relocated.
  void Add(const Mapping& mapping) {
    if (IsModuleData(mapping)) {
      const uint64_t pages = (mapping.end - mapping.start) / kPageSize;
      all_.push_back({&mapping, {mapping.start, pages}, true, {}});
      return;
    }
    const std::optional<std::vector<PageRun>> runs = source_.Present(mapping);
    if (!runs) {
      const uint64_t size = mapping.end - mapping.start;
      losses_.push_back("a mapping of " +
                        (size >> 30 != 0 ? std::to_string(size >> 30) + " GiB" : std::to_string(size >> 10) + " KiB") +
                        " was left out: its pages cannot be listed, or not in time (before Linux 6.7)");
      return;
    }
    for (const PageRun& run : *runs) all_.push_back({&mapping, run, false, {}});
  }

  uint64_t KeptBytes() const {
    uint64_t pages = 0;
    for (const Pages& run : all_) pages += static_cast<uint64_t>(std::ranges::count(run.keep, true));
    return pages * kPageSize;
  }

  // Only pages of files may turn out not to be readable.
  void TakeLater(const Pages& pages, uint64_t first, uint64_t end, KeptMemory* memory) const {
    for (uint64_t page = first; page < end; ++page) {
      const TargetAddress address = pages.Address(page);
      if (uint8_t byte; pages.module_data && source_.Read(address, {&byte, 1}) != 1) {
        SayUnreadable(pages, memory);
        continue;
      }
      if (!memory->later.empty() && memory->later.back().start + memory->later.back().pages * kPageSize == address)
        ++memory->later.back().pages;
      else
        memory->later.push_back({address, 1});
    }
  }

  static void SayUnreadable(const Pages& pages, KeptMemory* memory) {
    memory->losses.push_back("a page of " + (pages.mapping->path.empty() ? "memory" : pages.mapping->path) +
                             " could not be read");
  }

  // Pages of a run that cannot be read (a file shorter than its mapping) are skipped.
  void ReadRun(const Pages& pages, uint64_t first, uint64_t end, KeptMemory* memory) const {
    while (first < end) {
      Region region = {pages.Address(first), std::vector<uint8_t>((end - first) * kPageSize)};
      const size_t got = Fails("page") ? 0 : source_.Read(region.address, region.bytes) / kPageSize * kPageSize;
      region.bytes.resize(got);
      if (got != 0) memory->regions.push_back(std::move(region));
      first += got / kPageSize;
      if (first == end) return;
      SayUnreadable(pages, memory);
      ++first;
    }
  }

  void Keep(size_t run, uint64_t page) {
    Pages& pages = all_[run];
    if (kept_ >= limit_) return;
    if (pages.keep.empty()) pages.keep.resize(pages.run.pages);
    if (pages.keep[page]) return;
    pages.keep[page] = true;
    ++kept_;
    queue_.push_back({run, page});
  }

  void KeepRange(size_t run, uint64_t first, uint64_t end) {
    for (uint64_t page = first; page < end; ++page) Keep(run, page);
  }

  // From the stack pointer (less the red zone) upwards to the mapping's end; a pointer just below the mapping means an
  // overflow.
  void KeepStack(const Registers& registers, uint64_t most) {
    const TargetAddress low = {registers.sp() - std::min<uint64_t>(registers.sp(), 128)};
    const Mapping* stack = nullptr;
    for (size_t i = 0; i < all_.size(); ++i) {
      const Pages& pages = all_[i];
      if (low >= pages.mapping->end || low + kPageSize + 128 < pages.mapping->start) continue;
      if (stack == nullptr) stack = pages.mapping;
      if (pages.mapping != stack) return;
      if (low >= pages.end()) continue;
      const uint64_t first = low < pages.run.start ? 0 : (low - pages.run.start) / kPageSize;
      const uint64_t end = most == UINT64_MAX ? pages.run.pages : first + most / kPageSize;
      KeepRange(i, first, std::min(pages.run.pages, end));
    }
  }

  void Reach(uint64_t word) {
    auto next =
        std::ranges::upper_bound(all_, TargetAddress{word}, {}, [](const Pages& pages) { return pages.run.start; });
    if (next == all_.begin()) return;
    const Pages& pages = *std::prev(next);
    if (TargetAddress{word} >= pages.end()) return;
    Keep(static_cast<size_t>(std::prev(next) - all_.begin()), (TargetAddress{word} - pages.run.start) / kPageSize);
  }

  // Breadth first: what is one pointer away comes before what is two away. An object may go on in the next page, which
  // no pointer names, so that counts as one step as well.
  void Follow() {
    uint64_t words[kWordsInPage];
    while (!queue_.empty() && kept_ < limit_) {
      const PageNumber at = queue_.front();
      queue_.pop_front();
      const Pages& pages = all_[at.run];
      auto* bytes = reinterpret_cast<uint8_t*>(words);
      if (source_.Read(pages.Address(at.page), {bytes, kPageSize}) != kPageSize) continue;
      for (const uint64_t word : words) Reach(word);
      if (at.page + 1 < pages.run.pages) Keep(at.run, at.page + 1);
    }
  }

  const PageSource& source_;
  const MemoryRequest& request_;
  std::vector<Pages> all_;  // ascending
  std::vector<std::string> losses_;
  std::deque<PageNumber> queue_;
  uint64_t kept_ = 0;
  uint64_t limit_ = UINT64_MAX;
};

}  // namespace

KeptMemory KeepMemory(const PageSource& source, std::span<const Mapping> mappings, const MemoryRequest& request) {
  Choice choice(source, mappings, request);
  const uint64_t present = choice.PresentBytes();
  const bool everything = present <= request.limit;
  if (everything)
    choice.KeepEverything();
  else
    choice.KeepWithin();
  KeptMemory memory = choice.Read();
  memory.complete = everything && !choice.left_out();
  if (everything) return memory;
  uint64_t kept = 0;
  for (const Region& region : memory.regions) kept += region.bytes.size();
  for (const PageRun& run : memory.later) kept += run.pages * kPageSize;
  memory.losses.push_back("of " + std::to_string(present >> 20) + " MiB of memory the nearest " +
                          std::to_string(kept >> 20) + " MiB were kept (RECRASH_OPTIONS=memory=MiB)");
  return memory;
}

}  // namespace recrash
