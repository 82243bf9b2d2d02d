#include "testgen/minimise/given_memory.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>

#include "agent/base/readable_name.h"
#include "agent/base/tool_function.h"
#include "agent/elf/symbol_key.h"
#include "agent/report/maps.h"
#include "shadowstack/abi.h"
#include "testgen/carry/recorded_heap.h"
#include "testgen/replay/plan/glibc_state.h"
#include "testgen/replay/plan/plan.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = plan::kPageSize;
constexpr uint64_t kWord = 8;
constexpr uint64_t kMostHeap = 1ull << 30;
// Of the main thread's cache, which is malloc's own and the first block of the heap.
constexpr uint64_t kCacheBlock = 0x288;
// A freed block holds links in its first words, a large one two more, and its size in its last word.
constexpr uint64_t kLinks = 16, kLargeLinks = 32, kLargeBlock = 1000;
// The stack is one array of words, cut where frames begin and at this size.
constexpr uint64_t kStackPart = 256;
// Around the thread control block lie thread-local variables and what the C library keeps for the thread.
constexpr uint64_t kBelowThread = 4096, kAboveThread = 4096;
// glibc's heap of a thread's arena, and the arena's state in it.
constexpr uint64_t kLargestThreadsHeap = 64 << 20, kThreadsHeapSize = 16, kArenaSize = 0x898;
// A block that has a mapping of its own says so in its size.
constexpr uint64_t kIsMapped = 2, kFlags = 7, kHeader = 16;

uint64_t PageOf(uint64_t address) { return address / kPage * kPage; }

Patch PatchOf(const std::vector<TargetAddress>& pages) {
  std::vector<ByteRange> ranges;
  for (const TargetAddress page : pages) ranges.push_back({page.value, page.value + kPage});
  return Patch(std::move(ranges));
}

class Finder {
 public:
  Finder(const TestReport& report, const ReplayFrame& frame, const StartMemory& memory,
         const std::vector<TargetAddress>& touched)
      : report_(report),
        frame_(frame),
        memory_(memory),
        touched_(PatchOf(touched)),
        heap_(read_, report.process.brk_start.value, memory.heap_end()) {
    ReadThreadsHeaps();
  }

  GivenMemory Find() {
    AddRegisters();
    AddStack();
    AddGlobals();
    AddHeap(heap_, memory_.heap_end());
    for (const auto& [heap, end] : threads_heaps_) AddHeap(*heap, end);
    AddMappedBlocks();
    const Thread* thread = report_.failing_thread();
    const uint64_t control = thread ? thread->registers.fs_base : 0;
    whole_.push_back({control - std::min(control, kBelowThread), control + kAboveThread});
    for (const Part& part : given_.parts) whole_.push_back({part.start, part.start + part.size});
    given_.fixed = Without(touched_, Patch(std::move(whole_))).size();
    return std::move(given_);
  }

 private:
  void Add(Part part, const Patch& bytes) {
    ++given_.count;
    part.bytes = Inside(bytes, {part.start, part.start + part.size});
    if (!part.bytes.empty()) given_.parts.push_back(std::move(part));
  }

  void AddRegisters();
  void AddStack();
  void AddStackParts(PartKind kind, uint64_t start, uint64_t end);
  void AddGlobals();
  void ReadThreadsHeaps();
  bool IsInHeap(uint64_t address) const;
  void AddHeap(const RecordedHeap& heap, uint64_t heap_end);
  void AddMappedBlocks();
  bool IsOfThread(uint64_t address) const;

  const TestReport& report_;
  const ReplayFrame& frame_;
  const StartMemory& memory_;
  const ReadMemory read_ = [this](uint64_t address, std::span<uint8_t> out) { return memory_.Read(address, out); };
  Patch touched_;
  RecordedHeap heap_;
  std::vector<std::pair<std::unique_ptr<RecordedHeap>, uint64_t>> threads_heaps_;  // with their ends
  std::vector<ByteRange> whole_;
  GivenMemory given_;
};

void Finder::AddRegisters() {
  static constexpr std::array kNames = {"rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10"};
  for (const ReplayWord& word : frame_.words) {
    const auto location = static_cast<uint32_t>(word.location);
    const bool is_vector = location >= 16 && location < 24;
    if (location >= kNames.size() && !is_vector) continue;
    const std::string name = is_vector ? "xmm" + std::to_string(location - 16) : kNames.at(location);
    const uint64_t start = plan::RegisterAddress(location);
    Add({PartKind::kRegister, start, std::min<uint64_t>(word.size, is_vector ? 16 : kWord), name},
        Patch({{start, start + plan::kRegisterStride}}));
  }
}

void Finder::AddStackParts(PartKind kind, uint64_t start, uint64_t end) {
  std::set<uint64_t> cuts = {start, end};
  for (uint64_t at = (start / kStackPart + 1) * kStackPart; at < end; at += kStackPart) cuts.insert(at);
  for (const ReplayFrame& frame : report_.replay.frames) {
    const uint64_t at = frame.entry_sp.value + kWord;
    if (at > start && at < end) cuts.insert(at);
  }
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut)
    Add({kind, *cut, *std::next(cut) - *cut}, touched_);
}

bool Finder::IsOfThread(uint64_t address) const {
  const Thread* thread = report_.failing_thread();
  const uint64_t base = thread ? thread->registers.fs_base : 0;
  return base && address + kBelowThread >= base && address < base + kAboveThread;
}

// The slot of the return address is the replay's.
void Finder::AddStack() {
  const Mapping* stack = report_.FindMapping(frame_.entry_sp);
  if (!stack || IsInHeap(frame_.entry_sp.value)) return;
  uint64_t first = UINT64_MAX, last = 0;
  for (const ByteRange& range : touched_.ranges()) {
    if (range.end <= stack->start.value || range.start >= stack->end.value) continue;
    first = std::min(first, std::max(range.start, stack->start.value));
    last = std::max(last, std::min(range.end, stack->end.value));
  }
  const uint64_t sp = frame_.entry_sp.value;
  while (last > sp + kWord && IsOfThread(last - 1)) last = PageOf(last - 1);
  if (first < sp) AddStackParts(PartKind::kBelowStack, first, sp);
  if (last > sp + kWord) AddStackParts(PartKind::kCallersStack, sp + kWord, last);
}

// Pages of modules are not watched. What the loader made read-only stays as it is.
void Finder::AddGlobals() {
  for (const ModuleImage& image : report_.replay.images) {
    for (const Symbol& symbol : image.symbols) {
      const std::string name = NameInKey(symbol.name);
      // The compiler's references to the C++ runtime are no variables.
      if (symbol.is_function || symbol.size == 0 || IsToolSymbol(name) || name.starts_with("DW.ref.")) continue;
      const uint64_t start = image.base.value + symbol.offset, end = start + symbol.size;
      if (end < start) continue;
      const auto writable = [&](uint64_t at) { return IsWritable(report_.mappings, {at}); };
      if (!writable(start) || !writable(end - 1)) continue;
      const bool is_known = !given_.parts.empty() && given_.parts.back().start == start;  // two names of one variable
      if (!is_known) Add({PartKind::kGlobal, start, symbol.size, Demangle(name)}, Patch({{start, end}}));
    }
  }
}

// Each has the state of its arena at its beginning, then blocks. Of an arena with several heaps it is the first.
void Finder::ReadThreadsHeaps() {
  const GlibcState glibc = FindGlibcState(report_);
  for (const TargetAddress arena : glibc.arena_mutexes) {
    if (arena == glibc.main_arena) continue;
    const uint64_t start = arena.value / kLargestThreadsHeap * kLargestThreadsHeap;
    const uint64_t size = ReadWord(read_, start + kThreadsHeapSize).value_or(0);
    if (size == 0 || size > kLargestThreadsHeap || arena.value - start > kPage) continue;
    whole_.push_back({start, arena.value + kArenaSize});
    threads_heaps_.emplace_back(std::make_unique<RecordedHeap>(read_, arena.value + kArenaSize, start + size),
                                start + size);
  }
}

bool Finder::IsInHeap(uint64_t address) const {
  return heap_.Covers(address) ||
         std::ranges::any_of(threads_heaps_, [&](const auto& heap) { return heap.first->Covers(address); });
}

void Finder::AddHeap(const RecordedHeap& heap, uint64_t heap_end) {
  uint64_t end = heap.blocks().empty() ? heap_end : heap.blocks().front().address;
  for (const RecordedBlock& block : heap.blocks()) {
    const bool is_last = &block == &heap.blocks().back();
    const bool is_unused = is_last && block.address + block.size - kWord == heap_end;
    end = block.address + block.size - kWord;
    if (block.address == heap.blocks().front().address && block.size == kCacheBlock) {
      whole_.push_back({block.address - kHeader, end});
      continue;
    }
    ByteRange bytes = {block.address, std::min(block.address + block.size, heap_end)};
    const bool is_freed = !block.in_use && !is_unused;
    if (is_freed) bytes = {bytes.start + (block.size > kLargeBlock ? kLargeLinks : kLinks), bytes.end - kWord};
    const PartKind kind = is_unused ? PartKind::kUnusedHeap : is_freed ? PartKind::kFreedBlock : PartKind::kBlock;
    Add({kind, block.address, bytes.end - block.address}, Inside(touched_, bytes));
    whole_.push_back({block.address - kHeader, end});
  }
  for (uint64_t at = end; at < heap_end && at >= end; at = PageOf(at) + kPage)
    Add({PartKind::kUnknownHeap, at, std::min(PageOf(at) + kPage, heap_end) - at}, touched_);
}

void Finder::AddMappedBlocks() {
  for (const Mapping& mapping : report_.mappings) {
    if (!IsPrivateWritable(mapping) || !mapping.path.empty() || report_.FindModule(mapping.start)) continue;
    for (uint64_t at = mapping.start.value; at < mapping.end.value;) {
      const uint64_t word = ReadWord(read_, at + kWord).value_or(0), size = word & ~kFlags;
      const bool is_one = (word & kFlags) == kIsMapped && size % kPage == 0 && size && size <= mapping.end.value - at;
      if (!is_one) break;
      Add({PartKind::kMappedBlock, at + kHeader, size - kHeader}, touched_);
      at += size;
    }
  }
}

}  // namespace

const char* PartText(PartKind kind) {
  switch (kind) {
    case PartKind::kRegister:
      return "register";
    case PartKind::kGlobal:
      return "global";
    case PartKind::kCallersStack:
      return "the callers' stack";
    case PartKind::kBelowStack:
      return "what earlier calls left on the stack";
    case PartKind::kBlock:
      return "block";
    case PartKind::kFreedBlock:
      return "freed block";
    case PartKind::kUnusedHeap:
      return "heap that was never given out";
    case PartKind::kUnknownHeap:
      return "heap behind damage";
    case PartKind::kMappedBlock:
      return "block";
  }
  return "";
}

std::vector<TargetAddress> PagesToWatch(const TestReport& report, const StartMemory& memory) {
  std::set<TargetAddress> pages;
  const auto add = [&](TargetAddress page) {
    const Mapping* mapping = report.FindMapping(page);
    if (mapping && IsPrivateWritable(*mapping) && !report.FindModule(page)) pages.insert(page);
  };
  for (const Region& region : report.memory)
    for (uint64_t at = 0; at < region.bytes.size(); at += kPage) add({PageOf(region.address.value + at)});
  for (const auto& [page, bytes] : memory.pages()) add({page});
  // A page of the heap that was not written yet is zero.
  const uint64_t start = PageOf(report.process.brk_start.value), end = memory.heap_end();
  if (start && end > start && end - start <= kMostHeap)
    for (uint64_t at = start; at < end; at += kPage) add({at});
  return {pages.begin(), pages.end()};
}

GivenMemory FindGivenMemory(const TestReport& report, const ReplayFrame& frame, const StartMemory& memory,
                            const std::vector<TargetAddress>& touched) {
  return Finder(report, frame, memory, touched).Find();
}

}  // namespace recrash
