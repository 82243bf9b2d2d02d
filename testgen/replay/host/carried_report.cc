#include "testgen/replay/host/carried_report.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "agent/base/readable_name.h"
#include "agent/elf/symbol_key.h"
#include "agent/report/pages.h"
#include "testgen/symbols/dwarf/names.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostArgument = 1 << 20;

// Memory of the crash, under the pages of an entry state.
ReadMemory MemoryOf(const TestReport& report, const Pages* pages) {
  return [&report, pages](uint64_t address, std::span<uint8_t> out) {
    if (!pages || pages->empty()) return report.Read({address}, out);
    while (!out.empty()) {
      const uint64_t page = address & ~(kPage - 1);
      const size_t size = std::min<uint64_t>(out.size(), page + kPage - address);
      const auto found = pages->find(page);
      if (found != pages->end())
        std::memcpy(out.data(), found->second + (address - page), size);
      else if (!report.Read({address}, out.first(size)))
        return false;
      out = out.subspan(size);
      address += size;
    }
    return true;
  };
}

std::vector<uint8_t> BytesOf(const ReplayFrame& frame, const ReplayParameter& parameter, uint64_t size) {
  std::vector<uint8_t> bytes(parameter.indirect ? 8 : std::min(size, kMostArgument));
  for (const ReplayWord& word : frame.words) {
    if (word.parameter != parameter.number || word.source_offset >= bytes.size()) continue;
    const size_t fits = std::min<size_t>({word.size, bytes.size() - word.source_offset, word.bytes.size()});
    std::memcpy(bytes.data() + word.source_offset, word.bytes.data(), fits);
  }
  return bytes;
}

bool Overlap(uint64_t start, uint64_t size, const CarriedBytes& other) {
  return start < other.address + other.bytes.size() && other.address < start + size;
}

}  // namespace

ClassOfVtable VtablesOf(const Module& module, const ModuleImage& image) {
  struct Vtable {
    uint64_t start, end;
    std::string name;
  };
  auto vtables = std::make_shared<std::vector<Vtable>>();
  constexpr std::string_view kPrefix = "vtable for ";
  for (const Symbol& symbol : image.symbols) {
    if (symbol.is_function || !symbol.name.starts_with("_ZTV")) continue;
    const std::string readable = Demangle(NameInKey(symbol.name));
    const uint64_t start = module.base.value + symbol.offset;
    if (readable.starts_with(kPrefix))
      vtables->push_back({start, start + symbol.size, SimplifyName(readable.substr(kPrefix.size()))});
  }
  std::ranges::sort(*vtables, {}, &Vtable::start);
  return [vtables](uint64_t word) -> std::optional<std::string> {
    auto after = std::ranges::upper_bound(*vtables, word, {}, &Vtable::start);
    if (after == vtables->begin() || word >= std::prev(after)->end) return std::nullopt;
    return std::prev(after)->name;
  };
}

void CarriedReport::Carry(const ChangedModule& module) {
  if (report_) {
    for (const auto& [frame, parameters] : module.parameters)
      problems[frame] = "classes lie otherwise in several modules of this build";
    return;
  }
  report_ = original_;
  std::vector<ReplayFrame*> from_crash;
  for (ReplayFrame& frame : report_->replay.frames) {
    if (!module.parameters.contains(frame.index)) continue;
    if (!frame.start.from_entry) from_crash.push_back(&frame);
  }
  CarriedMemory carried = CarryFrames(module, from_crash, nullptr);
  TakeArguments(from_crash, carried);
  AddPages(carried);
  WriteMemory(carried.writes);
  for (ReplayFrame& frame : report_->replay.frames) {
    if (!frame.start.from_entry) continue;
    const auto state = std::ranges::find(report_->replay.entry_states, frame.index, &EntryState::frame);
    if (state == report_->replay.entry_states.end()) continue;
    const Pages pages = PagesOf(original_, *state);
    CarriedMemory own;
    if (module.parameters.contains(frame.index)) {
      own = CarryFrames(module, {&frame}, &pages);
      TakeArguments({&frame}, own);
      AddPages(own);
    }
    WriteEntryState(own, &*state);
  }
  for (const ReplayFrame& frame : report_->replay.frames)
    if (!module.parameters.contains(frame.index) && !(carried.writes.empty() && carried.pages.empty()))
      problems.emplace(frame.index,
                       "it may lead to objects that lie otherwise in this build: its own types are not known");
}

CarriedMemory CarriedReport::CarryFrames(const ChangedModule& module, const std::vector<ReplayFrame*>& frames,
                                         const Pages* pages) {
  RecordedObjects recorded;
  recorded.read = MemoryOf(original_, pages);
  recorded.heap_start = original_.process.brk_start.value;
  recorded.heap_end = original_.process.brk_end.value;
  recorded.class_of_vtable = VtablesOf(*module.module, *module.image);
  recorded.free_pages = free_pages_;
  Carrier carrier(module.types, recorded);
  for (const auto& [variable, type] : module.variables)
    carrier.AddVariable({variable->type, type}, module.module->base.value + variable->offset, variable->name);
  for (const StackVariable& variable : module.image->stack_variables) carrier.AddStackVariable(variable);
  for (const ReplayFrame* frame : frames) {
    const std::vector<ReplayParameter>& now = module.parameters.at(frame->index);
    for (size_t i = 0; i < frame->parameters.size(); ++i) {
      const ReplayParameter& parameter = frame->parameters[i];
      const TypePair type{parameter.type, now[i].type};
      const auto bytes = BytesOf(*frame, parameter, module.types->before(type).size);
      carrier.AddArgument(type, bytes, parameter.indirect, parameter.name);
    }
  }
  return carrier.Carry();
}

void CarriedReport::TakeArguments(const std::vector<ReplayFrame*>& frames, const CarriedMemory& carried) {
  notes.insert(carried.notes.begin(), carried.notes.end());
  size_t next = 0;
  for (ReplayFrame* frame : frames) {
    std::string problem = carried.problem;
    for (const ReplayParameter& parameter : frame->parameters) {
      const CarriedArgument& argument = carried.arguments[next++];
      if (problem.empty()) problem = argument.problem;
      if (parameter.number != 0) PutWords(argument.bytes, parameter, frame);
    }
    if (problem.empty()) problem = WhyNotWritten(*frame, carried);
    if (!problem.empty()) problems[frame->index] = problem;
    for (const auto& [address, variable] : carried.variables)
      variables[frame->index].emplace_back(address, variable.bytes);
  }
}

// Bytes that are laid over restored memory later on are as in the build that crashed.
std::string CarriedReport::WhyNotWritten(const ReplayFrame& frame, const CarriedMemory& carried) const {
  for (const CarriedBytes& write : carried.writes) {
    const auto in_field = [&](const ReplayField& field) {
      return Overlap(field.address.value, field.bytes.size(), write);
    };
    if (frame.start.depth > 0 && std::ranges::any_of(frame.fields, in_field))
      return "its record holds members of an object that lies otherwise in this build";
    if (original_.thrown && Overlap(original_.thrown->address.value, original_.thrown->bytes.size(), write))
      return "an object on the stack of the throw lies otherwise in this build";
  }
  return "";
}

void CarriedReport::PutWords(const std::vector<uint8_t>& bytes, const ReplayParameter& parameter, ReplayFrame* frame) {
  for (ReplayWord& word : frame->words) {
    if (word.parameter != parameter.number || word.source_offset >= bytes.size()) continue;
    const size_t fits = std::min<size_t>({word.size, bytes.size() - word.source_offset, word.bytes.size()});
    std::memcpy(word.bytes.data(), bytes.data() + word.source_offset, fits);
  }
}

// Objects that moved: memory that the dead process did not have.
void CarriedReport::AddPages(const CarriedMemory& carried) {
  for (const CarriedBytes& block : carried.pages) {
    const TargetAddress end{block.address + block.bytes.size()};
    report_->mappings.push_back({{block.address}, end, kMapRead | kMapWrite, 0, ""});
    report_->memory.push_back({{block.address}, block.bytes});
    free_pages_ = end.value + kPage;
  }
  std::ranges::sort(report_->memory, {}, &Region::address);
  std::ranges::sort(report_->mappings, {}, &Mapping::start);
}

void CarriedReport::WriteMemory(const std::vector<CarriedBytes>& writes) {
  for (const CarriedBytes& write : writes)
    for (uint64_t i = 0; i < write.bytes.size();) {
      const uint64_t address = write.address + i;
      auto region = std::ranges::upper_bound(report_->memory, TargetAddress{address}, {}, &Region::address);
      if (region == report_->memory.begin()) break;
      --region;
      const uint64_t offset = address - region->address.value;
      if (offset >= region->bytes.size()) break;
      const size_t size = std::min<uint64_t>(write.bytes.size() - i, region->bytes.size() - offset);
      std::memcpy(region->bytes.data() + offset, write.bytes.data() + i, size);
      for (uint64_t page = address & ~(kPage - 1); page < address + size; page += kPage) changed_pages_.insert(page);
      i += size;
    }
}

// The state is what differs from the crash, which has changed itself.
void CarriedReport::WriteEntryState(const CarriedMemory& carried, EntryState* state) {
  std::map<uint64_t, std::vector<uint8_t>> pages;
  const Pages recorded = PagesOf(original_, *state);
  const ReadMemory read = MemoryOf(original_, &recorded);
  const auto page_at = [&](uint64_t address) -> std::vector<uint8_t>* {
    const auto [slot, is_new] = pages.try_emplace(address, kPage);
    if (is_new && !read(address, slot->second)) {
      pages.erase(slot);
      return nullptr;
    }
    return &slot->second;
  };
  for (const auto& [address, bytes] : recorded) page_at(address);
  for (const uint64_t page : changed_pages_) page_at(page);
  for (const CarriedBytes& write : carried.writes)
    for (uint64_t i = 0; i < write.bytes.size(); ++i) {
      const uint64_t address = write.address + i;
      if (std::vector<uint8_t>* page = page_at(address & ~(kPage - 1))) (*page)[address & (kPage - 1)] = write.bytes[i];
    }
  EntryMemory::Layer layer;
  for (auto& [address, bytes] : pages) layer.push_back({{address}, std::move(bytes)});
  state->memory = EntryMemory(std::move(layer));
}

}  // namespace recrash
