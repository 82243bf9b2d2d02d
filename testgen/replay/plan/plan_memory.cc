// What is mapped, and with which bytes: at the crash, and where frames were entered.
#include <sys/mman.h>

#include <algorithm>

#include "agent/report/maps.h"
#include "agent/report/pages.h"
#include "testgen/replay/plan/plan_parts.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = plan::kPageSize;

bool IsKernelMapping(const std::string& path) {
  return path == "[vdso]" || path == "[vvar]" || path == "[vvar_vclock]" || path == "[vsyscall]";
}

}  // namespace

void PlanBuilder::AddMapping(const Mapping& mapping, uint64_t start, uint64_t end) {
  const bool is_file = mapping.path.starts_with('/');
  plan::Mapping planned{};
  planned.input = -1;
  planned.start = start;
  planned.end = end;
  planned.kind = plan::MappingKind::kReserved;
  if (mapping.flags & kMapRead) planned.protection |= PROT_READ;
  if (mapping.flags & kMapWrite) planned.protection |= PROT_WRITE;
  // Code comes from modules alone: what else could be executed came with the report, or is a file that it names.
  if ((mapping.flags & kMapExecute) && options_.trust_report) planned.protection |= PROT_EXEC;
  if (IsPrivateWritable(mapping)) {
    planned.kind = plan::MappingKind::kMemory;
  } else if (mapping.flags & kMapWithheld) {
    planned.kind = plan::MappingKind::kReserved;
  } else if (is_file) {
    planned.kind = plan::MappingKind::kFile;
    planned.path = AddText(mapping.path);
    planned.input = InputAt(mapping.path);
    planned.file_offset = mapping.file_offset + (start - mapping.start.value);
  } else if (mapping.flags & kMapShared) {
    planned.kind = plan::MappingKind::kMemory;  // contents of shared memory are not kept: zero pages
  }
  mappings_.push_back(planned);
}

// Whatever lies outside the modules is mapped anew. A heap may have merged with the .bss before it (ASLR off), so each
// mapping is cut at the modules' ends.
void PlanBuilder::AddMappings() {
  for (const Mapping& mapping : report_.mappings) {
    if (IsKernelMapping(mapping.path)) continue;
    uint64_t start = mapping.start.value;
    while (start < mapping.end.value) {
      const int module = ModuleAt(start);
      if (module >= 0) {
        start = modules_[module].base + modules_[module].size;
        continue;
      }
      const uint64_t end = NextModule(start, mapping.end.value);
      AddMapping(mapping, start, end);
      start = end;
    }
  }
}

// What was mapped at a frame's entry and is free at the crash.
void PlanBuilder::AddEntryMapping(uint64_t start, uint64_t end) {
  std::vector<plan::Range> taken;
  for (const plan::Mapping& mapping : mappings_) taken.push_back({mapping.start, mapping.end});
  for (const plan::Module& module : modules_) taken.push_back({module.base, module.base + module.size});
  std::ranges::sort(taken, {}, &plan::Range::start);
  const auto add = [&](uint64_t to) {
    if (start < to) mappings_.push_back({start, to, plan::MappingKind::kEntry, PROT_READ | PROT_WRITE, 0, 0, -1});
  };
  for (const plan::Range& range : taken) {
    if (range.end <= start) continue;
    if (range.start >= end) break;
    add(range.start);
    start = range.end;
  }
  add(end);
}

void PlanBuilder::AddEntryMappings() {
  for (const EntryState& state : report_.replay.entry_states) {
    for (const Mapping& mapping : state.mappings) {
      const bool is_aligned = mapping.start.value % kPage == 0 && mapping.end.value % kPage == 0;
      if (is_aligned && IsPrivateWritable(mapping)) AddEntryMapping(mapping.start.value, mapping.end.value);
    }
  }
}

void PlanBuilder::AddRun(TargetAddress address, std::span<const uint8_t> bytes) {
  uint64_t start = address.value;
  while (!bytes.empty()) {
    const int module = ModuleAt(start);
    uint64_t end = start + bytes.size();
    if (module >= 0) end = std::min(end, modules_[module].base + modules_[module].size);
    end = NextModule(start, end);
    runs_.push_back({start, end - start, AddContent(bytes.first(end - start)), module});
    bytes = bytes.subspan(end - start);
    start = end;
  }
}

void PlanBuilder::AddRuns() {
  for (const Region& region : report_.memory) {
    if (region.address.value % kPage || region.bytes.size() % kPage) continue;
    AddRun(region.address, region.bytes);
  }
  for (size_t i = 0; i < rebuilt_.size(); ++i) {
    const ModuleImage* image = rebuilt_[i] ? report_.replay.FindImage(report_.modules[i]) : nullptr;
    if (!image) continue;
    for (const Region& region : image->read_only) AddRun(region.address, region.bytes);
  }
}

// Withheld memory, and what a replay against another build has nothing of: the old program's code.
void PlanBuilder::AddAbsent() {
  for (const Mapping& mapping : report_.mappings) {
    const int module = ModuleAt(mapping.start.value);
    const bool is_withheld = mapping.flags & kMapWithheld;
    if (module < 0 && is_withheld) absent_.push_back({mapping.start.value, mapping.end.value});
    if (module < 0 || !rebuilt_[module] || (IsPrivateWritable(mapping) && !is_withheld)) continue;
    uint64_t start = mapping.start.value;
    const auto add = [&](uint64_t end) {
      if (start < end) absent_.push_back({start, end});
    };
    for (const plan::Run& run : runs_) {
      const uint64_t first = run.address / kPage * kPage, last = (run.address + run.size + kPage - 1) / kPage * kPage;
      if (run.module != module || last <= start || first >= mapping.end.value) continue;
      add(first);
      start = last;
    }
    add(mapping.end.value);
  }
}

// Up to where `address` can be put back in one piece: the end of its module or mapping; 0 where there is neither.
uint64_t PlanBuilder::EndOfPlaced(uint64_t address) const {
  const int module = ModuleAt(address);
  if (module >= 0) return modules_[module].base + modules_[module].size;
  for (const plan::Mapping& mapping : mappings_) {
    const bool is_memory = mapping.kind == plan::MappingKind::kMemory || mapping.kind == plan::MappingKind::kEntry;
    if (is_memory && address >= mapping.start && address < mapping.end) return mapping.end;
  }
  return 0;
}

void PlanBuilder::AddEntryRun(TargetAddress address, std::span<const uint8_t> bytes, std::vector<plan::Run>* runs) {
  if (address.value % kPage || bytes.size() % kPage) return;
  uint64_t start = address.value;
  while (!bytes.empty()) {
    const uint64_t placed = EndOfPlaced(start);
    const uint64_t size = std::min<uint64_t>(placed ? placed - start : kPage, bytes.size());
    if (placed) runs->push_back({start, size, AddContent(bytes.first(size)), ModuleAt(start)});
    bytes = bytes.subspan(size);
    start += size;
  }
}

plan::EntryState PlanBuilder::AddEntryState(const EntryState& state) {
  plan::EntryState planned{};
  planned.brk_end = state.brk_end.value;
  planned.copied_depth = state.copied_depth;
  std::vector<plan::Range> mappings;
  for (const Mapping& mapping : state.mappings) {
    for (const plan::Mapping& placed : mappings_) {
      const plan::Range range{std::max(placed.start, mapping.start.value), std::min(placed.end, mapping.end.value)};
      if (placed.kind == plan::MappingKind::kEntry && range.start < range.end) mappings.push_back(range);
    }
  }
  planned.mappings = AddTable(mappings);
  std::vector<plan::Run> runs;
  for (const PageSpan& span : SpansOf(PagesOf(report_, state))) AddEntryRun(span.address, span.bytes, &runs);
  planned.memory = AddTable(runs);
  planned.files = AddTable(Files(state.files));
  std::vector<uint32_t> not_loaded;
  for (size_t i = 0; i < report_.modules.size(); ++i) {
    if (std::ranges::find(state.not_loaded, report_.modules[i].base) != state.not_loaded.end())
      not_loaded.push_back(static_cast<uint32_t>(i));
  }
  planned.not_loaded = AddTable(not_loaded);
  return planned;
}

}  // namespace recrash
