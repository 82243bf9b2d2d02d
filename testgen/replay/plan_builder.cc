#include "testgen/replay/plan_builder.h"

#include <cxxabi.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>

#include "testgen/replay/glibc_state.h"
#include "testgen/replay/left_out.h"
#include "testgen/replay/plan.h"
#include "testgen/replay/recorded_path.h"
#include "testgen/replay/translation.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = plan::kPageSize;
// A stack without a limit still has to be mapped with some room below it.
constexpr uint64_t kLargestStack = 64ull << 20;
constexpr uint64_t kSmallestStack = 8ull << 20;
// How far below the stack's end an access counts as an overflow: a frame may skip the guard page by its own size.
constexpr uint64_t kOverflowReach = 1ull << 20;

bool IsKernelMapping(const std::string& path) {
  return path == "[vdso]" || path == "[vvar]" || path == "[vvar_vclock]" || path == "[vsyscall]";
}

bool IsLoader(const Module& module) {
  const std::string name = module.path.substr(module.path.rfind('/') + 1);
  return name.starts_with("ld-linux") || name.starts_with("ld-2.");
}

bool IsVdso(const Module& module) { return module.path.starts_with("[vdso]") || module.path.starts_with("linux-vdso"); }

// p_memsz of the PT_TLS of the module whose image this is; its headers lie at the start of the first segment.
uint64_t TlsSizeOf(const ModuleImage& image) {
  for (const Region& region : image.read_only) {
    Elf64_Ehdr header;
    if (region.address != image.base || region.bytes.size() < sizeof header) continue;
    memcpy(&header, region.bytes.data(), sizeof header);
    for (uint64_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      const uint64_t at = header.e_phoff + i * sizeof segment;
      if (at > region.bytes.size() - sizeof segment || region.bytes.size() < sizeof segment) break;
      memcpy(&segment, region.bytes.data() + at, sizeof segment);
      if (segment.p_type == PT_TLS) return segment.p_memsz;
    }
  }
  return 0;
}

// As the back-trace leaves them out when it looks for the failing place.
bool IsToolFunction(const std::string& name) {
  for (const char* prefix : {"__recrash_", "_ZN7recrash6client", "RecrashReportWithRegisters", "RecrashNoteThrow",
                             "_ZN15google_breakpad", "__clang_call_terminate"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

// What the guest calls of the C++ runtime.
bool IsRuntimeSymbol(const std::string& name) {
  for (const char* symbol :
       {"__cxa_get_globals", "__cxa_current_exception_type", "_ZTISt9exception", "_Unwind_Backtrace", "_Unwind_GetIP",
        "_ZNSt9basic_iosIcSt11char_traitsIcEE5clearESt12_Ios_Iostate", "_ZNSi5seekgElSt12_Ios_Seekdir"}) {
    if (name == symbol) return true;
  }
  return false;
}

// Collects the tables, then writes all of it out in one go.
class Builder {
 public:
  Builder(const Report& report, const ProgramFile& program, const std::vector<RebuiltLibrary>& libraries,
          const PlanOptions& options);

  Result<PlanFile> Build();

 private:
  struct Content {
    uint64_t place;  // of the run in runs_
    std::span<const uint8_t> bytes;
  };

  plan::Text AddText(const std::string& text);
  uint64_t AddBytes(std::span<const uint8_t> bytes);
  void AddModules();
  void AddMappings();
  void AddMapping(const Mapping& mapping, uint64_t start, uint64_t end);
  void AddEntryMappings();
  void AddEntryMapping(uint64_t start, uint64_t end);
  void AddRuns();
  void AddRun(TargetAddress address, std::span<const uint8_t> bytes);
  void AddPatches();
  void AddPatch(std::vector<plan::Patch>* patches, TargetAddress address, std::span<const uint8_t> bytes);
  void AddFiles(const std::vector<OpenFile>& files, std::vector<plan::OpenFile>* planned);
  void AddInputs();
  int32_t InputAt(const std::string& path) const;
  void AddFrames();
  void AddEntryStates();
  plan::EntryState AddEntryState(const EntryState& state);
  void AddEntryRun(TargetAddress address, std::span<const uint8_t> bytes);
  uint64_t EndOfPlaced(uint64_t address) const;
  void AddSymbols();
  void AddSymbols(const ModuleTranslation& translation, plan::Module* module);
  void AddFailure();
  void AddProcess();
  int ModuleAt(uint64_t address) const;
  template <typename T>
  plan::Array Reserve(const std::vector<T>& table);
  Result<PlanFile> Write();

  const Report& report_;
  const ProgramFile& program_;
  const PlanOptions& options_;
  std::vector<const ProgramFile*> rebuilt_;  // for each module the file that is another build now, or null
  std::map<size_t, ModuleTranslation> translations_;
  plan::Header header_{};
  std::string texts_ = std::string(1, '\0');
  std::vector<uint8_t> blob_;  // bytes of patches, fields and inputs; offsets into it until Write
  std::vector<plan::Module> modules_;
  std::vector<plan::Mapping> mappings_;
  std::vector<plan::Run> runs_;
  std::vector<Content> contents_;
  std::vector<plan::EntryState> entry_states_;
  std::vector<plan::Range> entry_mappings_;
  std::vector<plan::Run> entry_runs_;
  std::vector<Content> entry_contents_;
  std::vector<plan::OpenFile> entry_files_;
  std::vector<uint32_t> late_modules_;
  std::vector<plan::Patch> patches_;
  std::vector<plan::Patch> unlocks_;
  std::vector<plan::OpenFile> files_;
  std::vector<plan::Input> inputs_;
  std::vector<plan::InputName> input_names_;
  std::vector<plan::Frame> frames_;
  std::vector<plan::Word> words_;
  std::vector<plan::Patch> fields_;
  std::vector<plan::Stream> streams_;
  std::vector<plan::Symbol> symbols_;
  std::vector<plan::RuntimeSymbol> runtime_symbols_;
  std::vector<plan::Request> requests_;
};

Builder::Builder(const Report& report, const ProgramFile& program, const std::vector<RebuiltLibrary>& libraries,
                 const PlanOptions& options)
    : report_(report), program_(program), options_(options), rebuilt_(report.modules.size()) {
  for (const RebuiltLibrary& library : libraries) rebuilt_[library.module] = &library.file;
  for (size_t i = 0; i < rebuilt_.size(); ++i) {
    const Module& module = report.modules[i];
    if (module.is_program && !IsSameBuild(report, module, program)) rebuilt_[i] = &program;
  }
}

plan::Text Builder::AddText(const std::string& text) {
  if (text.empty()) return 0;
  const auto offset = static_cast<plan::Text>(texts_.size());
  texts_.append(text.c_str());  // up to the first NUL
  texts_.push_back('\0');
  return offset;
}

uint64_t Builder::AddBytes(std::span<const uint8_t> bytes) {
  const uint64_t offset = blob_.size();
  blob_.insert(blob_.end(), bytes.begin(), bytes.end());
  blob_.resize((blob_.size() + 7) & ~size_t{7});
  return offset;
}

int Builder::ModuleAt(uint64_t address) const {
  for (size_t i = 0; i < modules_.size(); ++i) {
    if (address >= modules_[i].base && address - modules_[i].base < modules_[i].size) return static_cast<int>(i);
  }
  return -1;
}

void Builder::AddModules() {
  for (size_t i = 0; i < rebuilt_.size(); ++i) {
    const Module& module = report_.modules[i];
    const ModuleImage* image = report_.replay->FindImage(module);
    uint32_t flags = 0;
    if (module.is_program) flags |= plan::kProgram;
    if (IsLoader(module)) flags |= plan::kLoader;
    if (IsVdso(module)) flags |= plan::kVdso;
    if (rebuilt_[i]) flags |= plan::kOtherBuild;
    if (rebuilt_[i]) header_.flags |= plan::kRebuilt;
    const uint64_t tls_size = rebuilt_[i] && image ? TlsSizeOf(*image) : 0;
    modules_.push_back({module.base.value, module.size, tls_size, flags, AddText(module.path), {}});
    if (!rebuilt_[i] && !module.is_program) continue;
    const std::vector<Symbol>& now = rebuilt_[i] ? rebuilt_[i]->symbols : program_.symbols;
    const bool has_symbols = image && !image->symbols.empty();
    // Where the report brings no symbols of its own, those of the same build name the places.
    const std::vector<Symbol> none;
    translations_.emplace(i, ModuleTranslation(has_symbols ? image->symbols : rebuilt_[i] ? none : now, now));
  }
}

void Builder::AddMapping(const Mapping& mapping, uint64_t start, uint64_t end) {
  const bool is_file = mapping.path.starts_with('/');
  plan::Mapping planned{};
  planned.input = -1;
  planned.start = start;
  planned.end = end;
  planned.kind = plan::MappingKind::kReserved;
  if (mapping.flags & kMapRead) planned.protection |= PROT_READ;
  if (mapping.flags & kMapWrite) planned.protection |= PROT_WRITE;
  if (mapping.flags & kMapExecute) planned.protection |= PROT_EXEC;
  if ((mapping.flags & kMapWrite) && !(mapping.flags & kMapShared)) {
    planned.kind = plan::MappingKind::kMemory;
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
void Builder::AddMappings() {
  for (const Mapping& mapping : report_.mappings) {
    if (IsKernelMapping(mapping.path)) continue;
    uint64_t start = mapping.start.value;
    while (start < mapping.end.value) {
      const int module = ModuleAt(start);
      if (module >= 0) {
        start = modules_[module].base + modules_[module].size;
        continue;
      }
      uint64_t end = mapping.end.value;
      for (const plan::Module& other : modules_) {
        if (other.base > start && other.base < end) end = other.base;
      }
      AddMapping(mapping, start, end);
      start = end;
    }
  }
}

// What was mapped at a frame's entry and is free at the crash.
void Builder::AddEntryMapping(uint64_t start, uint64_t end) {
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

void Builder::AddEntryMappings() {
  for (const EntryState& state : report_.replay->entry_states) {
    for (const Mapping& mapping : state.mappings) {
      const bool is_aligned = mapping.start.value % kPage == 0 && mapping.end.value % kPage == 0;
      const bool is_private = (mapping.flags & kMapWrite) && !(mapping.flags & kMapShared);
      if (is_aligned && is_private) AddEntryMapping(mapping.start.value, mapping.end.value);
    }
  }
}

void Builder::AddRun(TargetAddress address, std::span<const uint8_t> bytes) {
  uint64_t start = address.value;
  while (!bytes.empty()) {
    const int module = ModuleAt(start);
    uint64_t end = start + bytes.size();
    if (module >= 0) end = std::min(end, modules_[module].base + modules_[module].size);
    for (const plan::Module& other : modules_) {
      if (other.base > start && other.base < end) end = other.base;
    }
    runs_.push_back({start, end - start, 0, module, 0});
    contents_.push_back({runs_.size() - 1, bytes.first(end - start)});
    bytes = bytes.subspan(end - start);
    start = end;
  }
}

void Builder::AddRuns() {
  for (const Region& region : report_.memory) {
    if (region.address.value % kPage || region.bytes.size() % kPage) continue;
    AddRun(region.address, region.bytes);
  }
  for (size_t i = 0; i < rebuilt_.size(); ++i) {
    const ModuleImage* image = rebuilt_[i] ? report_.replay->FindImage(report_.modules[i]) : nullptr;
    if (!image) continue;
    for (const Region& region : image->read_only) AddRun(region.address, region.bytes);
  }
}

void Builder::AddPatch(std::vector<plan::Patch>* patches, TargetAddress address, std::span<const uint8_t> bytes) {
  patches->push_back({address.value, bytes.size(), AddBytes(bytes)});
}

void Builder::AddPatches() {
  if (report_.thrown) AddPatch(&patches_, report_.thrown->address, report_.thrown->bytes);
  const GlibcState glibc = FindGlibcState(report_);
  header_.main_arena = glibc.main_arena.value;
  if (LeftOut("arena_mutexes")) return;
  const std::array<uint8_t, 4> unlocked{};
  for (const TargetAddress mutex : glibc.arena_mutexes) AddPatch(&unlocks_, mutex, unlocked);
}

int32_t Builder::InputAt(const std::string& path) const {
  for (size_t i = 0; i < std::min<size_t>(report_.inputs.size(), plan::kMostInputs); ++i) {
    if (report_.inputs[i].path == path) return static_cast<int32_t>(i);
  }
  return -1;
}

void Builder::AddInputs() {
  const std::string& folder = report_.process.working_directory;
  for (size_t i = 0; i < std::min<size_t>(report_.inputs.size(), plan::kMostInputs); ++i) {
    const Input& input = report_.inputs[i];
    inputs_.push_back({input.bytes.size(), AddBytes(input.bytes), AddText(input.path), input.held() ? 1u : 0u});
    std::vector<std::string> names = input.names;
    names.push_back(input.path);
    for (const std::string& name : names) {
      if (name.empty() || (name[0] != '/' && folder.empty())) continue;
      std::string path(folder.size() + name.size() + 3, '\0');
      if (!NormalizePath(folder.c_str(), name.c_str(), path.data(), path.size())) continue;
      input_names_.push_back({AddText(path.c_str()), static_cast<uint32_t>(i)});
    }
  }
}

// What the report holds comes from there. Of the rest, files that were only read are opened again; what was written to
// goes to /dev/null, so that a replay destroys nothing.
void Builder::AddFiles(const std::vector<OpenFile>& files, std::vector<plan::OpenFile>* all) {
  for (const OpenFile& file : files) {
    plan::OpenFile planned{};
    planned.descriptor = file.descriptor;
    planned.flags = file.flags & (O_ACCMODE | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC | O_PATH);
    planned.offset = file.offset;
    const bool read_only = (file.flags & O_ACCMODE) == O_RDONLY;
    const bool is_path = file.path.starts_with('/') && !file.path.starts_with("/dev/pts/");
    if (read_only && is_path) planned.path = AddText(file.path);
    const int32_t input = file.input >= 0 ? file.input : InputAt(file.path);
    const bool is_input =
        input >= 0 && static_cast<uint64_t>(input) < std::min<uint64_t>(report_.inputs.size(), plan::kMostInputs);
    const bool held = is_input && report_.inputs[static_cast<size_t>(input)].held();
    planned.input = held || (is_input && read_only) ? input : -1;
    all->push_back(planned);
  }
}

void Builder::AddFrames() {
  for (const ReplayFrame& frame : report_.replay->frames) {
    plan::Frame planned{};
    planned.index = frame.index;
    planned.name = AddText(frame.function.empty() ? ReadableSymbol(frame.linkage_name) : frame.function);
    planned.entry = frame.entry.value;
    planned.entry_sp = frame.entry_sp.value;
    planned.rebuilt_module = -1;
    planned.flags = frame.self_contained ? plan::kSealed : 0;
    const int module = ModuleAt(frame.entry.value);
    if (module >= 0 && rebuilt_[module]) {
      const std::optional<uint64_t> entry =
          translations_.at(module).FindFunction(frame.entry.value - modules_[module].base, frame.linkage_name);
      planned.entry = entry.value_or(0);
      planned.rebuilt_module = module;
      if (!entry) {
        const Module& rebuilt = report_.modules[module];
        planned.problem =
            AddText((frame.function.empty() ? frame.linkage_name : frame.function) + " is not in this build of " +
                    (rebuilt.is_program ? "the program" : rebuilt.path.substr(rebuilt.path.rfind('/') + 1)) +
                    ": removed, renamed, inlined, or its signature has changed");
      }
    }
    if (planned.entry == 0 && planned.problem == 0) planned.problem = AddText("the function's address is not known");
    if (planned.entry_sp % 16 != 8 && planned.problem == 0) {
      planned.problem = AddText("the stack pointer at its entry is not known");
    }
    planned.words = {words_.size(), frame.words.size()};
    for (const ReplayWord& word : frame.words) {
      plan::Word out{};
      out.location = static_cast<uint8_t>(word.location);
      out.parameter = word.parameter;
      out.stack_offset = word.stack_offset;
      out.size = std::min<uint16_t>(word.size, 16);
      out.source_offset = word.source_offset;
      memcpy(out.bytes, word.bytes.data(), 16);
      words_.push_back(out);
    }
    planned.fields = {fields_.size(), frame.fields.size()};
    for (const ReplayField& field : frame.fields) AddPatch(&fields_, field.address, field.bytes);
    planned.streams = {streams_.size(), frame.streams.size()};
    for (const ReplayStream& stream : frame.streams) {
      streams_.push_back({stream.parameter, static_cast<uint8_t>(stream.kind), stream.offset});
    }
    frames_.push_back(planned);
  }
}

// Up to where `address` can be put back in one piece: the end of its module or mapping; 0 where there is neither.
uint64_t Builder::EndOfPlaced(uint64_t address) const {
  const int module = ModuleAt(address);
  if (module >= 0) return modules_[module].base + modules_[module].size;
  for (const plan::Mapping& mapping : mappings_) {
    const bool is_memory = mapping.kind == plan::MappingKind::kMemory || mapping.kind == plan::MappingKind::kEntry;
    if (is_memory && address >= mapping.start && address < mapping.end) return mapping.end;
  }
  return 0;
}

void Builder::AddEntryRun(TargetAddress address, std::span<const uint8_t> bytes) {
  if (address.value % kPage || bytes.size() % kPage) return;
  uint64_t start = address.value;
  while (!bytes.empty()) {
    const uint64_t placed = EndOfPlaced(start);
    const uint64_t size = std::min<uint64_t>(placed ? placed - start : kPage, bytes.size());
    if (placed) {
      entry_runs_.push_back({start, size, 0, ModuleAt(start), 0});
      entry_contents_.push_back({entry_runs_.size() - 1, bytes.first(size)});
    }
    bytes = bytes.subspan(size);
    start += size;
  }
}

plan::EntryState Builder::AddEntryState(const EntryState& state) {
  plan::EntryState planned{};
  planned.brk_end = state.brk_end.value;
  planned.mappings.offset = entry_mappings_.size();
  for (const Mapping& mapping : state.mappings) {
    for (const plan::Mapping& placed : mappings_) {
      const plan::Range range{std::max(placed.start, mapping.start.value), std::min(placed.end, mapping.end.value)};
      if (placed.kind == plan::MappingKind::kEntry && range.start < range.end) entry_mappings_.push_back(range);
    }
  }
  planned.mappings.count = entry_mappings_.size() - planned.mappings.offset;
  planned.runs.offset = entry_runs_.size();
  for (const Region& region : state.memory) AddEntryRun(region.address, region.bytes);
  planned.runs.count = entry_runs_.size() - planned.runs.offset;
  planned.files = {entry_files_.size(), state.files.size()};
  AddFiles(state.files, &entry_files_);
  planned.late.offset = late_modules_.size();
  for (size_t i = 0; i < report_.modules.size(); ++i) {
    if (std::ranges::find(state.not_loaded, report_.modules[i].base) != state.not_loaded.end())
      late_modules_.push_back(static_cast<uint32_t>(i));
  }
  planned.late.count = late_modules_.size() - planned.late.offset;
  return planned;
}

void Builder::AddEntryStates() {
  for (size_t i = 0; i < frames_.size(); ++i) {
    const ReplayFrame& frame = report_.replay->frames[i];
    const EntryState* state = report_.replay->FindEntryState(frame.index);
    if (!state) continue;
    frames_[i].entry_state = {entry_states_.size(), 1};
    if (frame.entry_state) frames_[i].flags |= plan::kFromEntry;
    entry_states_.push_back(AddEntryState(*state));
  }
}

void Builder::AddSymbols(const ModuleTranslation& translation, plan::Module* module) {
  module->symbols = {symbols_.size(), translation.symbols().size()};
  for (const TranslatedSymbol& symbol : translation.symbols()) {
    uint32_t flags = 0;
    if (symbol.is_function) flags |= plan::kFunction;
    if (symbol.found) flags |= plan::kTranslated;
    if (symbol.is_function && IsToolFunction(symbol.name)) flags |= plan::kTool;
    if (symbol.found && !symbol.is_function && symbol.size == symbol.new_size) flags |= plan::kCopied;
    symbols_.push_back(
        {symbol.offset, symbol.size, symbol.new_offset, symbol.new_size, AddText(ReadableSymbol(symbol.name)), flags});
  }
}

void Builder::AddSymbols() {
  for (const auto& [module, translation] : translations_) AddSymbols(translation, &modules_[module]);
  // A C++ runtime that was linked statically cannot be found by dlsym.
  for (const Symbol& symbol : program_.symbols) {
    if (IsRuntimeSymbol(symbol.name)) {
      runtime_symbols_.push_back({AddText(symbol.name), 0, symbol.offset});
    }
  }
}

void Builder::AddFailure() {
  const Failure& failure = report_.failure;
  header_.failure_kind = static_cast<uint32_t>(failure.kind);
  header_.signal = failure.signal;
  header_.code = failure.code;
  header_.failure_text = AddText(ReplayFailureText(report_));
  header_.failure_address = failure.address.value;
  header_.failure_pc = failure.pc.value;
  header_.abort_message = AddText(failure.abort_message);
  header_.exception_type = AddText(failure.exception_type);
  header_.exception_what = AddText(failure.exception_what);
  header_.reason = AddText(failure.reason);
  header_.report_path = AddText(options_.report_path);
  const Place& place = report_.replay->place;
  header_.place_pc = place.pc.value;
  header_.place_start = place.function_start.value;
  header_.place_end = place.function_start.value + place.function_size;
  header_.place_function = AddText(ReadableSymbol(place.function));
  const int module = ModuleAt(place.pc.value);
  if (module < 0 || !rebuilt_[module]) return;
  const auto range =
      translations_.at(module).FindRange(place.function_start.value - modules_[module].base, place.function);
  header_.place_start = range ? range->first : 0;
  header_.place_end = range ? range->second : 0;
}

// The main thread's stack grows on demand down to its limit: [top - limit, top) is mapped, so that deeper calls than
// those recorded find room. After an overflow the recorded low end is the one that matters.
void Builder::AddProcess() {
  header_.brk_start = report_.process.brk_start.value;
  header_.brk_end = report_.process.brk_end.value;
  header_.working_directory = AddText(report_.process.working_directory);
  const Thread* thread = report_.failing_thread();
  if (!thread) return;
  header_.fs_base = thread->registers.fs_base;
  const std::vector<uint8_t>& fpu = thread->registers.fxsave;
  if (fpu.size() >= 28) {
    header_.fcw = static_cast<uint32_t>(fpu[0]) | static_cast<uint32_t>(fpu[1]) << 8;
    memcpy(&header_.mxcsr, fpu.data() + 24, 4);
  }
  const uint64_t sp = thread->registers.sp();
  const uint64_t fault = report_.failure.address.value;
  for (plan::Mapping& mapping : mappings_) {
    const bool writable = mapping.kind == plan::MappingKind::kMemory;
    const bool holds_sp = sp >= mapping.start - kOverflowReach && sp < mapping.end;
    if (writable && holds_sp && report_.failure.signal == SIGSEGV && fault < mapping.start &&
        fault >= mapping.start - kOverflowReach && sp < mapping.start + kOverflowReach) {
      header_.flags |= plan::kStackOverflow;
    }
  }
  for (const Mapping& mapping : report_.mappings) {
    if (mapping.path != "[stack]") continue;
    uint64_t limit = report_.process.stack_limit;
    const uint64_t used = mapping.end.value - mapping.start.value;
    if (limit == 0 || limit > kLargestStack) limit = std::max(kSmallestStack, used + kSmallestStack);
    for (plan::Mapping& planned : mappings_) {
      if (planned.end != mapping.end.value) continue;
      const bool overflowed = header_.flags & plan::kStackOverflow;
      const uint64_t low = (mapping.end.value - limit + kPage - 1) & ~(kPage - 1);
      if (!overflowed && !LeftOut("stack_room") && low < planned.start) planned.start = low;
    }
  }
  for (const plan::Mapping& mapping : mappings_) {
    if (mapping.kind != plan::MappingKind::kMemory) continue;
    const bool near =
        (header_.flags & plan::kStackOverflow) && sp < mapping.start && sp >= mapping.start - kOverflowReach;
    if ((sp >= mapping.start && sp < mapping.end) || near) {
      header_.stack_start = mapping.start;
      header_.stack_end = mapping.end;
    }
  }
}

template <typename T>
plan::Array Builder::Reserve(const std::vector<T>& table) {
  const plan::Array array{header_.size, table.size()};
  header_.size = (header_.size + table.size() * sizeof(T) + 15) & ~uint64_t{15};
  return array;
}

bool WriteAt(int descriptor, const void* bytes, uint64_t size, uint64_t offset) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  while (size > 0) {
    const ssize_t written = pwrite(descriptor, at, size, static_cast<off_t>(offset));
    if (written <= 0) return false;
    at += written;
    size -= static_cast<uint64_t>(written);
    offset += static_cast<uint64_t>(written);
  }
  return true;
}

template <typename T>
bool WriteTable(int descriptor, const std::vector<T>& table, const plan::Array& array) {
  return WriteAt(descriptor, table.data(), table.size() * sizeof(T), array.offset);
}

Result<PlanFile> Builder::Write() {
  header_.size = (sizeof header_ + 15) & ~uint64_t{15};
  header_.modules = Reserve(modules_);
  header_.mappings = Reserve(mappings_);
  header_.runs = Reserve(runs_);
  const plan::Array entry_states = Reserve(entry_states_);
  const plan::Array entry_mappings = Reserve(entry_mappings_);
  const plan::Array entry_runs = Reserve(entry_runs_);
  const plan::Array entry_files = Reserve(entry_files_);
  const plan::Array late_modules = Reserve(late_modules_);
  header_.patches = Reserve(patches_);
  header_.unlocks = Reserve(unlocks_);
  header_.files = Reserve(files_);
  header_.inputs = Reserve(inputs_);
  header_.input_names = Reserve(input_names_);
  header_.frames = Reserve(frames_);
  const plan::Array words = Reserve(words_);
  const plan::Array fields = Reserve(fields_);
  const plan::Array streams = Reserve(streams_);
  const plan::Array symbols = Reserve(symbols_);
  header_.runtime_symbols = Reserve(runtime_symbols_);
  header_.requests = Reserve(requests_);
  const plan::Array blob = Reserve(blob_);
  header_.text = Reserve(std::vector<char>(texts_.begin(), texts_.end()));
  for (plan::Frame& frame : frames_) {
    frame.words.offset = words.offset + frame.words.offset * sizeof(plan::Word);
    frame.fields.offset = fields.offset + frame.fields.offset * sizeof(plan::Patch);
    frame.streams.offset = streams.offset + frame.streams.offset * sizeof(plan::Stream);
    frame.entry_state.offset = entry_states.offset + frame.entry_state.offset * sizeof(plan::EntryState);
  }
  for (plan::EntryState& state : entry_states_) {
    state.mappings.offset = entry_mappings.offset + state.mappings.offset * sizeof(plan::Range);
    state.runs.offset = entry_runs.offset + state.runs.offset * sizeof(plan::Run);
    state.files.offset = entry_files.offset + state.files.offset * sizeof(plan::OpenFile);
    state.late.offset = late_modules.offset + state.late.offset * sizeof(uint32_t);
  }
  for (plan::Module& module : modules_) {
    module.symbols.offset = symbols.offset + module.symbols.offset * sizeof(plan::Symbol);
  }
  for (plan::Patch& patch : patches_) patch.offset += blob.offset;
  for (plan::Patch& unlock : unlocks_) unlock.offset += blob.offset;
  for (plan::Patch& field : fields_) field.offset += blob.offset;
  for (plan::Input& input : inputs_) input.offset += blob.offset;
  uint64_t at = (header_.size + kPage - 1) & ~(kPage - 1);
  for (std::vector<plan::Run>* runs : {&runs_, &entry_runs_}) {
    for (plan::Run& run : *runs) {
      run.offset = at;
      at += (run.size + kPage - 1) & ~(kPage - 1);
    }
  }
  header_.size = at;

  const int descriptor = MoveHigh(memfd_create("recrash-plan", 0));
  PlanFile file(descriptor);
  bool written =
      descriptor >= 0 && ftruncate(descriptor, static_cast<off_t>(header_.size)) == 0 &&
      WriteAt(descriptor, &header_, sizeof header_, 0) && WriteTable(descriptor, modules_, header_.modules) &&
      WriteTable(descriptor, mappings_, header_.mappings) && WriteTable(descriptor, runs_, header_.runs) &&
      WriteTable(descriptor, entry_states_, entry_states) && WriteTable(descriptor, entry_mappings_, entry_mappings) &&
      WriteTable(descriptor, entry_runs_, entry_runs) && WriteTable(descriptor, entry_files_, entry_files) &&
      WriteTable(descriptor, late_modules_, late_modules) && WriteTable(descriptor, unlocks_, header_.unlocks) &&
      WriteTable(descriptor, patches_, header_.patches) && WriteTable(descriptor, files_, header_.files) &&
      WriteTable(descriptor, inputs_, header_.inputs) && WriteTable(descriptor, input_names_, header_.input_names) &&
      WriteTable(descriptor, frames_, header_.frames) && WriteTable(descriptor, words_, words) &&
      WriteTable(descriptor, fields_, fields) && WriteTable(descriptor, streams_, streams) &&
      WriteTable(descriptor, symbols_, symbols) && WriteTable(descriptor, runtime_symbols_, header_.runtime_symbols) &&
      WriteTable(descriptor, requests_, header_.requests) && WriteTable(descriptor, blob_, blob) &&
      WriteAt(descriptor, texts_.data(), texts_.size(), header_.text.offset);
  for (const Content& content : contents_) {
    written = written && WriteAt(descriptor, content.bytes.data(), content.bytes.size(), runs_[content.place].offset);
  }
  for (const Content& content : entry_contents_) {
    const plan::Run& run = entry_runs_[content.place];
    written = written && WriteAt(descriptor, content.bytes.data(), content.bytes.size(), run.offset);
  }
  if (!written) {
    return Error{Errc::kRefused, "cannot write " + std::to_string(header_.size >> 20) +
                                     " MiB into an anonymous file: " + strerror(errno)};
  }
  return file;
}

Result<PlanFile> Builder::Build() {
  if (!report_.program()) return Error{Errc::kMissing, "the report does not say which module is the program"};
  header_.magic = plan::kMagic;
  header_.version = plan::kVersion;
  header_.flags = options_.flags;
  header_.test_library = AddText(options_.test_library);
  header_.seconds_per_frame = options_.seconds_per_frame;
  header_.memory_limit = options_.memory_limit;
  header_.results_fd = options_.results_fd;
  header_.workers = options_.workers;
  requests_ = options_.requests;
  AddModules();
  AddMappings();
  AddEntryMappings();
  AddRuns();
  AddPatches();
  AddFiles(report_.files, &files_);
  AddInputs();
  AddFrames();
  AddEntryStates();
  AddSymbols();
  AddFailure();
  AddProcess();
  return Write();
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace

PlanFile& PlanFile::operator=(PlanFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

PlanFile::~PlanFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void PlanFile::SetAttempt(uint32_t attempt) const {
  WriteAt(descriptor_, &attempt, sizeof attempt, offsetof(plan::Header, attempt));
}

void PlanFile::ChangeFlags(uint32_t set, uint32_t clear) const {
  uint32_t all = 0;
  if (pread(descriptor_, &all, sizeof all, offsetof(plan::Header, flags)) != sizeof all) return;
  all = (all & ~clear) | set;
  WriteAt(descriptor_, &all, sizeof all, offsetof(plan::Header, flags));
}

Status PlanFile::ChangeRequests(const std::vector<plan::Request>& requests) const {
  plan::Array table{};
  if (pread(descriptor_, &table, sizeof table, offsetof(plan::Header, requests)) != sizeof table ||
      requests.size() > table.count) {
    return Error{Errc::kRefused, "the plan has no room for " + std::to_string(requests.size()) + " requests"};
  }
  table.count = requests.size();
  if (WriteTable(descriptor_, requests, table) &&
      WriteAt(descriptor_, &table, sizeof table, offsetof(plan::Header, requests))) {
    return Ok{};
  }
  return Error{Errc::kRefused, std::string("cannot write the plan: ") + strerror(errno)};
}

Result<PlanFile> BuildPlan(const Report& report, const ProgramFile& program,
                           const std::vector<RebuiltLibrary>& libraries, const PlanOptions& options) {
  return Builder(report, program, libraries, options).Build();
}

int MoveHigh(int descriptor) {
  if (descriptor < 0) return descriptor;
  for (const int low : {20000, 4000, 1000, 200, 100}) {
    const int high = fcntl(descriptor, F_DUPFD, low);
    if (high < 0) continue;
    close(descriptor);
    return high;
  }
  return descriptor;
}

std::string ReadableSymbol(const std::string& linkage_name) {
  const std::string name = linkage_name.substr(0, linkage_name.find('@'));
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(::abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return text ? text.get() : name;
}

std::string ReplayFailureText(const Report& report) {
  const Failure& failure = report.failure;
  std::string text = SignalName(failure.signal);
  if (failure.kind == FailureKind::kException) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> type(
        ::abi::__cxa_demangle(failure.exception_type.c_str(), nullptr, nullptr, &status), std::free);
    text = "uncaught " + std::string(type ? type.get() : failure.exception_type.c_str());
    if (!failure.exception_what.empty()) text += " (" + failure.exception_what + ")";
  } else if (failure.kind == FailureKind::kReported) {
    text = "reported \"" + failure.reason + "\"";
  } else if (!failure.abort_message.empty()) {
    std::string message = failure.abort_message;
    while (!message.empty() && message.back() == '\n') message.pop_back();
    text += " (" + message + ")";
  }
  if (!report.replay) return text;
  const Place& place = report.replay->place;
  if (!place.function.empty()) text += " in " + ReadableSymbol(place.function);
  if (!place.file.empty()) {
    text += " at " + place.file.substr(place.file.rfind('/') + 1);
    if (place.line) text += ":" + std::to_string(place.line);
  }
  return text;
}

}  // namespace recrash
