#include "testgen/derive/replayed_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>

#include "agent/process/proc_files.h"
#include "agent/process/target_memory.h"
#include "agent/report/maps.h"
#include "testgen/derive/replayed_files.h"

namespace recrash {
namespace {

constexpr uint64_t kMostMemory = 1ull << 30;
constexpr std::array<uint8_t, kPageSize> kZeros{};

bool Overlaps(const Mapping& a, const Mapping& b) { return a.start < b.end && b.start < a.end; }

bool Same(const uint8_t* a, const uint8_t* b) { return memcmp(a, b, kPageSize) == 0; }

const uint8_t* Find(const Pages& pages, uint64_t page) {
  const auto found = pages.find(page);
  return found == pages.end() ? nullptr : found->second;
}

// The program's memory may be mapped from a file here: from the plan, or from a module. Then pages that nobody touched
// have content too.
std::optional<std::vector<PageRun>> RunsOf(const TargetMemory& memory, const Mapping& mapping,
                                           const std::vector<Mapping>& known) {
  const bool is_known = std::ranges::any_of(known, [&](const Mapping& other) { return Overlaps(mapping, other); });
  if (!is_known || !mapping.path.starts_with('/')) return memory.Present(mapping);
  return std::vector<PageRun>{{mapping.start, (mapping.end - mapping.start) / kPageSize}};
}

Result<std::vector<Region>> ReadPrograms(pid_t process, const std::vector<Mapping>& programs,
                                         const std::vector<Mapping>& known) {
  const Result<TargetMemory> memory = TargetMemory::Open(process);
  if (!memory) return memory.error();
  std::vector<Region> regions;
  uint64_t left = kMostMemory;
  for (const Mapping& mapping : programs) {
    const auto runs = RunsOf(*memory, mapping, known);
    for (const PageRun& run : runs ? *runs : std::vector<PageRun>()) {
      const uint64_t size = run.pages * kPageSize;
      if (size > left) return Error{Errc::kRefused, "its memory is too large"};
      left -= size;
      regions.push_back({run.start, std::vector<uint8_t>(size)});
      regions.back().bytes.resize(memory->Read(run.start, regions.back().bytes) / kPageSize * kPageSize);
    }
  }
  return regions;
}

bool LiesAtItsBase(const Module& module, const std::vector<Mapping>& mappings) {
  return std::ranges::any_of(mappings, [&](const Mapping& mapping) {
    return mapping.start == module.base && mapping.path.starts_with('/') && mapping.file_offset == 0;
  });
}

}  // namespace

ReplayedMemory::ReplayedMemory(const Report& report, const ReplayFrame& outer, const EntryState& state)
    : report_(&report), outer_(&outer), state_(&state) {
  for (const std::vector<Mapping>* all : {&report.mappings, &state.mappings})
    std::ranges::copy_if(*all, std::back_inserter(known_), IsPrivateWritable);
  std::ranges::sort(known_, {}, &Mapping::start);
  LayPages(report.memory, &crash_);
  recorded_ = PagesOf(report, state);
  recorded_.insert(crash_.begin(), crash_.end());
}

Result<ReplayedMemory> ReplayedMemory::AtBegin(const Report& report, const ReplayFrame& outer, const EntryState& state,
                                               pid_t process) {
  ReplayedMemory memory(report, outer, state);
  const std::vector<Mapping> mappings = ParseMaps(ReadProcFile(process, "maps"));
  const Module* program = report.program();
  if (!program || !LiesAtItsBase(*program, mappings))
    return Error{Errc::kRefused, "the program does not lie at its recorded address there"};
  memory.others_ = GoneMappings(mappings, memory.known_);
  Result<std::vector<Region>> read = ReadPrograms(process, GoneMappings(mappings, memory.others_), memory.known_);
  if (!read) return read.error();
  memory.memory_ = *std::move(read);
  LayPages(memory.memory_, &memory.begin_);
  memory.files_ = ReadOpenFiles(process);
  return memory;
}

bool ReplayedMemory::IsIn(const std::vector<TargetAddress>& modules, uint64_t address) const {
  const Module* module = report_->FindModule({address});
  return module && std::ranges::find(modules, module->base) != modules.end();
}

// What the page was when the outer frame was entered. A page that the report does not have was as the replay found it:
// data of a module is as in its file. The same holds for modules that were loaded later, and heap that was added later.
const uint8_t* ReplayedMemory::Recorded(uint64_t page) const {
  const bool is_later_heap = page >= state_->brk_end.value && page < report_->process.brk_end.value;
  const bool is_later = is_later_heap || IsIn(state_->not_loaded, page);
  const uint8_t* recorded = is_later ? nullptr : Find(recorded_, page);
  if (!recorded) recorded = Find(begin_, page);
  return recorded ? recorded : kZeros.data();
}

void ReplayedMemory::Merge(uint64_t page, const uint8_t* now, uint8_t* merged) const {
  constexpr size_t kWord = sizeof(uint64_t);
  const uint8_t* recorded = Recorded(page);
  const uint8_t* begin = Find(begin_, page);
  if (!begin) begin = kZeros.data();
  memcpy(merged, recorded, kPageSize);
  for (size_t at = 0; at < kPageSize; at += kWord) {
    // The return address of the outer frame leads into the replay here.
    if (page + at == outer_->entry_sp.value) continue;
    if (memcmp(now + at, begin + at, kWord) != 0) memcpy(merged + at, now + at, kWord);
  }
}

std::vector<Region> ReplayedMemory::Changed(const Pages& now, const std::vector<Mapping>& programs,
                                            const std::vector<TargetAddress>& not_loaded) const {
  std::deque<std::array<uint8_t, kPageSize>> merged;
  Pages changed;
  const auto add = [&](uint64_t page, const uint8_t* content) {
    if (IsIn(not_loaded, page)) return;
    merged.emplace_back();
    Merge(page, content, merged.back().data());
    // A page that neither the report nor the outer state has is in every replay as it was at the begin.
    const uint8_t* crash = Find(crash_, page);
    const uint8_t* otherwise = crash ? crash : Find(recorded_, page) ? nullptr : Recorded(page);
    if (otherwise && Same(otherwise, merged.back().data())) {
      merged.pop_back();
    } else {
      changed[page] = merged.back().data();
    }
  };
  for (const auto& [page, content] : now) add(page, content);
  // Pages that the program has given back to the kernel meanwhile, in mappings that are still there.
  for (const auto& [page, content] : begin_) {
    if (!now.contains(page) && IsWritable(programs, {page})) add(page, kZeros.data());
  }
  return JoinPages(changed);
}

// Nobody tells where the heap ends: it is the mappings that follow its start without a gap.
TargetAddress ReplayedMemory::BreakOf(const std::vector<Mapping>& mappings) const {
  const auto up = [](uint64_t address) { return (address + kPageSize - 1) & ~(kPageSize - 1); };
  uint64_t end = up(report_->process.brk_start.value);
  for (const Mapping& mapping : mappings) {
    if (IsPrivateWritable(mapping) && mapping.start.value <= end && end < mapping.end.value) end = mapping.end.value;
  }
  return end == up(state_->brk_end.value) ? state_->brk_end : TargetAddress{end};
}

// A module whose memory was not written to since the begin counts as not loaded: it is initialised when the replay
// opens it.
std::vector<TargetAddress> ReplayedMemory::StillNotLoaded(const Pages& now) const {
  std::vector<TargetAddress> left = state_->not_loaded;
  std::erase_if(left, [&](TargetAddress base) {
    const Module* module = report_->FindModule(base);
    return module && std::ranges::any_of(now, [&](const auto& page) {
             const uint8_t* begin = Find(begin_, page.first);
             const bool inside = page.first >= base.value && page.first - base.value < module->size;
             return inside && !Same(page.second, begin ? begin : kZeros.data());
           });
  });
  return left;
}

Result<EntryState> ReplayedMemory::StateAt(pid_t process, uint32_t frame) const {
  const std::vector<Mapping> mappings = ParseMaps(ReadProcFile(process, "maps"));
  const std::vector<Mapping> programs = GoneMappings(mappings, others_);
  const Result<std::vector<Region>> read = ReadPrograms(process, programs, known_);
  if (!read) return read.error();
  Pages now;
  LayPages(*read, &now);
  EntryState state;
  state.origin = Origin::kDerived;
  state.outer = outer_->index;
  state.frame = frame;
  state.brk_end = BreakOf(mappings);
  state.mappings = GoneMappings(programs, report_->mappings);
  state.files = ProgramsFiles(*report_, state_->files, files_, process);
  state.not_loaded = StillNotLoaded(now);
  state.memory = Changed(now, programs, state.not_loaded);
  return state;
}

}  // namespace recrash
