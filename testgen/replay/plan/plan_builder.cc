#include "testgen/replay/plan/plan_builder.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <span>

#include "agent/base/printable_text.h"
#include "agent/base/readable_name.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/base/text.h"
#include "agent/base/tool_function.h"
#include "agent/elf/elf_notes.h"
#include "agent/elf/symbol_key.h"
#include "agent/report/modules.h"
#include "testgen/replay/plan/glibc_state.h"
#include "testgen/replay/plan/load_order.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/replay/plan/plan_parts.h"
#include "testgen/replay/plan/recorded_path.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = plan::kPageSize;
// A stack without a limit still has to be mapped with some room below it.
constexpr uint64_t kLargestStack = 64ull << 20;
constexpr uint64_t kSmallestStack = 8ull << 20;

bool IsVdso(const Module& module) { return module.path.starts_with("[vdso]") || module.path.starts_with("linux-vdso"); }

// Of the thread-local segment of the module whose image this is; its headers lie at the start of the first segment.
uint64_t TlsSizeOf(const ModuleImage& image) {
  const auto first = std::ranges::find(image.read_only, image.base, &Region::address);
  if (first == image.read_only.end()) return 0;
  const Result<ElfFacts> elf = ParseElfHead(first->bytes, "the recorded build");
  return elf ? elf->tls_size : 0;
}

// In one line for people: "SIGSEGV in FormatName at greeter.cc:41".
std::string FailureText(const TestReport& report) {
  const Failure& failure = report.failure;
  std::string text = SignalName(failure.signal);
  if (failure.kind == FailureKind::kException) {
    text = (failure.replaced_by.empty() ? "uncaught " : "replaced ") + DemangleType(failure.exception_type);
    if (!failure.exception_what.empty()) text += " (" + failure.exception_what + ")";
  } else if (failure.kind == FailureKind::kReported) {
    text = "reported \"" + failure.reason + "\"";
  } else if (!failure.abort_message.empty()) {
    std::string message = failure.abort_message;
    while (!message.empty() && message.back() == '\n') message.pop_back();
    text += " (" + message + ")";
  }
  const Place& place = report.replay.place;
  if (!place.function.empty()) text += " in " + ReadableSymbol(place.function);
  if (!place.file.empty()) {
    text += " at " + BaseName(place.file);
    if (place.line) text += ":" + std::to_string(place.line);
  }
  return text;
}

}  // namespace

std::string ReadableSymbol(const std::string& linkage_name) { return Demangle(NameInKey(linkage_name)); }

PlanBuilder::PlanBuilder(const TestReport& report, const ProgramFile& program,
                         const std::vector<RebuiltLibrary>& libraries, const PlanOptions& options)
    : report_(report), program_(program), options_(options), rebuilt_(report.modules.size()) {
  for (const RebuiltLibrary& library : libraries) rebuilt_[library.module] = &library.file;
  for (size_t i = 0; i < rebuilt_.size(); ++i) {
    const Module& module = report.modules[i];
    if (module.is_program && !IsSameBuild(report, module, program)) rebuilt_[i] = &program;
  }
}

int PlanBuilder::ModuleAt(uint64_t address) const {
  for (size_t i = 0; i < modules_.size(); ++i) {
    if (address >= modules_[i].base && address - modules_[i].base < modules_[i].size) return static_cast<int>(i);
  }
  return -1;
}

uint64_t PlanBuilder::NextModule(uint64_t start, uint64_t end) const {
  for (const plan::Module& module : modules_)
    if (module.base > start) end = std::min(end, module.base);
  return end;
}

void PlanBuilder::AddModules() {
  for (size_t i = 0; i < rebuilt_.size(); ++i) {
    const Module& module = report_.modules[i];
    const ModuleImage* image = report_.replay.FindImage(module);
    uint32_t flags = 0;
    if (module.is_program) flags |= plan::kProgram;
    if (IsLoader(module)) flags |= plan::kLoader;
    if (IsVdso(module)) flags |= plan::kVdso;
    if (rebuilt_[i]) flags |= plan::kOtherBuild;
    if (rebuilt_[i]) header_.flags |= plan::kRebuilt;
    plan::Module planned{};
    planned.base = module.base.value;
    planned.size = module.size;
    planned.tls_size = rebuilt_[i] && image ? TlsSizeOf(*image) : 0;
    planned.flags = flags;
    planned.path = AddText(module.path);
    if (i < options_.to_load.size()) planned.to_load = AddText(options_.to_load[i]);
    const bool any_build = IsVdso(module) || BaseName(module.path).starts_with("librecrash_");
    if (!any_build) planned.build_id = AddText(rebuilt_[i] ? rebuilt_[i]->build_id : module.build_id);
    if (rebuilt_[i] && image) AddThreadLocals(*image, *rebuilt_[i], &planned);
    modules_.push_back(planned);
    if (!rebuilt_[i] && !module.is_program) continue;
    const std::vector<Symbol>& now = rebuilt_[i] ? rebuilt_[i]->symbols : program_.symbols;
    const bool has_symbols = image && !image->symbols.empty();
    // Where the report brings no symbols of its own, those of the same build name the places.
    const std::vector<Symbol> none;
    translations_.emplace(i, ModuleTranslation(has_symbols ? image->symbols : rebuilt_[i] ? none : now, now));
  }
  NumberThreadLocals();
}

// The loader numbers thread-local segments in the order of loading, and another build may need other libraries.
void PlanBuilder::NumberThreadLocals() {
  if (!(header_.flags & plan::kRebuilt)) return;
  uint64_t id = 0;
  std::vector<uint32_t> order = report_.replay.load_order;
  if (order.empty()) order = LoadOrder(report_, FindDebuggersList(report_));
  for (const uint32_t i : order) {
    if (i >= modules_.size()) return;
    const Module& module = report_.modules[i];
    if (IsVdso(module)) continue;  // has no file
    uint64_t size = modules_[i].tls_size;
    if (!rebuilt_[i]) {
      const Result<ElfFacts> facts = ReadElf(module.is_program ? program_.path : module.path);
      if (!facts || facts->build_id != module.build_id) return;  // nothing is known of this one and those behind it
      size = facts->tls_size;
    }
    if (size) modules_[i].tls_id = ++id;
  }
}

// By name: the blocks of two builds may be of one size and have other variables at a place.
void PlanBuilder::AddThreadLocals(const ModuleImage& image, const ProgramFile& now, plan::Module* module) {
  const bool known = !image.thread_locals.empty() && (!now.thread_locals.empty() || now.tls_size == 0);
  const bool same = module->tls_size == now.tls_size && image.thread_locals == now.thread_locals;
  if (module->tls_size == 0 || (known && same)) return;
  module->moved_thread_locals = 1;
  const std::string of = " of " + BaseName(now.path);
  if (!known) {
    module->not_carried = AddText("the thread-local variables" + of + ", for which there are no symbols");
    return;
  }
  std::vector<plan::ThreadLocal> pairs;
  const ModuleTranslation translation(image.thread_locals, now.thread_locals);
  for (const TranslatedSymbol& variable : translation.symbols()) {
    if (!variable.found || IsToolSymbol(NameInKey(variable.name))) continue;
    if (variable.size == variable.new_size)
      pairs.push_back({variable.offset, variable.size, variable.new_offset});
    else
      module->not_carried =
          AddText("the thread-local variable " + ReadableSymbol(variable.name) + of + ", which has another size");
  }
  module->thread_locals = AddTable(pairs);
}

void PlanBuilder::AddPatch(std::vector<plan::Patch>* patches, TargetAddress address, std::span<const uint8_t> bytes) {
  patches->push_back({address.value, bytes.size(), AddBytes(bytes)});
}

// The stack as it was at the throw. The agent does not know where a stack ends that is not the thread's own (of a
// fiber), and copies into the mapping behind it.
void PlanBuilder::AddThrow() {
  const ThrownStack& stack = *report_.thrown;
  const Mapping* mapping = report_.FindMapping(stack.address);
  const size_t most = mapping != nullptr ? mapping->end - stack.address : 0;
  AddPatch(&patches_, stack.address, std::span(stack.bytes).first(std::min(stack.bytes.size(), most)));
}

void PlanBuilder::AddPatches() {
  if (report_.thrown) AddThrow();
  const GlibcState glibc = FindGlibcState(report_);
  header_.main_arena = glibc.main_arena.value;
  if (LeftOut("arena_mutexes")) return;
  const std::array<uint8_t, 4> unlocked{};
  for (const TargetAddress mutex : glibc.arena_mutexes) {
    std::array<uint8_t, 4> recorded;
    if (report_.Read(mutex, recorded)) AddPatch(&unlocks_, mutex, unlocked);  // it may be withheld
  }
}

int32_t PlanBuilder::InputAt(const std::string& path) const {
  for (size_t i = 0; i < std::min<size_t>(report_.inputs.size(), plan::kMostInputs); ++i) {
    if (report_.inputs[i].path == path) return static_cast<int32_t>(i);
  }
  return -1;
}

void PlanBuilder::AddInputs() {
  const std::string& folder = report_.process.working_directory;
  for (size_t i = 0; i < std::min<size_t>(report_.inputs.size(), plan::kMostInputs); ++i) {
    const Input& input = report_.inputs[i];
    const bool differs = std::ranges::find(options_.changed_inputs, i) != options_.changed_inputs.end();
    inputs_.push_back(
        {input.bytes.size(), AddBytes(input.bytes), AddText(input.path), input.held() ? 1u : 0u, differs ? 1u : 0u});
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

// What a replay lacks of a file that it cannot open as it was; empty: nothing that the program could have read.
std::string AbsentText(const OpenFile& file) {
  const bool is_output = file.descriptor == 1 || file.descriptor == 2 || (file.flags & O_ACCMODE) == O_WRONLY;
  if (is_output || file.path == "/dev/null") return "";
  return "descriptor " + std::to_string(file.descriptor) + " (" + file.path + ")";
}

// What the report holds comes from there. Of the rest, files that were only read are opened again; what was written to
// goes to /dev/null, so that a replay destroys nothing.
std::vector<plan::OpenFile> PlanBuilder::Files(const std::vector<OpenFile>& files) {
  std::vector<plan::OpenFile> all;
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
    planned.absent = AddText(AbsentText(file));
    all.push_back(planned);
  }
  return all;
}

void PlanBuilder::AddFailure() {
  const Failure& failure = report_.failure;
  header_.failure_kind = failure.kind;
  header_.signal = failure.signal;
  header_.failure_text = AddText(PrintableText(FailureText(report_)));
  header_.failure_pc = failure.pc.value;
  header_.abort_message = AddText(failure.abort_message);
  header_.exception_type = AddText(failure.exception_type);
  header_.exception_what = AddText(failure.exception_what);
  header_.reason = AddText(failure.reason);
  header_.report_path = AddText(PrintableText(options_.report_path));
  const Place& place = report_.replay.place;
  header_.place_pc = place.pc.value;
  header_.place_start = place.function_start.value;
  header_.place_end = place.function_start.value + place.function_size;
  std::vector<plan::Range> copies;
  for (const CodeRange& range : place.copies) copies.push_back({range.start.value, range.end.value});
  header_.place_copies = AddTable(copies);
  const int module = ModuleAt(place.pc.value);
  if (module < 0 || !rebuilt_[module]) return;
  const auto range =
      translations_.at(module).FindFunction(place.function_start.value - modules_[module].base, place.function);
  header_.place_start = range ? range->first : 0;
  header_.place_end = range ? range->second : 0;
}

// A failure there would end the subject before a replay can begin.
bool IsBeforeMain(const std::vector<SourceFrame>& chain) {
  const auto has = [&](auto matches) { return std::ranges::any_of(chain, matches, &SourceFrame::function); };
  return has([](const std::string& name) { return name.starts_with("_GLOBAL__sub_I_"); }) &&
         !has([](const std::string& name) { return name == "main"; });
}

// How far below the start of `mapping` an address lies, if so near that a frame may have skipped the guard page.
bool IsJustBelow(uint64_t address, const plan::Mapping& mapping) {
  return address < mapping.start && address >= mapping.start - plan::kOverflowReach;
}

// Was the failing access just below the stack that the stack pointer is in, or has just left?
void PlanBuilder::FindOverflow(uint64_t sp) {
  if (report_.failure.signal != SIGSEGV) return;
  for (const plan::Mapping& mapping : mappings_) {
    if (mapping.kind != plan::MappingKind::kMemory) continue;
    const bool near_sp =
        sp >= mapping.start - plan::kOverflowReach && sp < std::min(mapping.start + plan::kOverflowReach, mapping.end);
    if (near_sp && IsJustBelow(report_.failure.address.value, mapping)) header_.flags |= plan::kStackOverflow;
  }
}

// The main thread's stack grows on demand down to its limit: [top - limit, top) is mapped, so that deeper calls than
// those recorded find room. After an overflow the recorded low end is the one that matters. A stack of which pages are
// withheld is several mappings: the lowest one grows, and the limit counts from the end of the highest.
void PlanBuilder::MakeRoomForStack() {
  if ((header_.flags & plan::kStackOverflow) || LeftOut("stack_room")) return;
  const Mapping *lowest = nullptr, *highest = nullptr;
  for (const Mapping& mapping : report_.mappings) {
    if (mapping.path != "[stack]") continue;
    if (!lowest) lowest = &mapping;
    highest = &mapping;
  }
  if (!lowest) return;
  uint64_t limit = report_.process.stack_limit;
  const uint64_t used = highest->end.value - lowest->start.value;
  if (limit == 0 || limit > kLargestStack) limit = std::max(kSmallestStack, used + kSmallestStack);
  const uint64_t low = (highest->end.value - limit + kPage - 1) & ~(kPage - 1);
  for (plan::Mapping& planned : mappings_)
    if (planned.end == lowest->end.value) planned.start = std::min(planned.start, low);
}

void PlanBuilder::FindStack(uint64_t sp) {
  for (const plan::Mapping& mapping : mappings_) {
    if (mapping.kind != plan::MappingKind::kMemory) continue;
    const bool has_left_it = (header_.flags & plan::kStackOverflow) && IsJustBelow(sp, mapping);
    if ((sp < mapping.start || sp >= mapping.end) && !has_left_it) continue;
    header_.stack_start = mapping.start;
  }
}

void PlanBuilder::AddProcess() {
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
  FindOverflow(sp);
  MakeRoomForStack();
  FindStack(sp);
}

Result<Fd> PlanBuilder::Build() {
  if (!report_.program()) return Error{Errc::kMissing, "the report does not say which module is the program"};
  header_.magic = plan::kMagic;
  header_.version = plan::kVersion;
  header_.flags = options_.flags;
  if (IsBeforeMain(report_.replay.place.chain)) header_.flags |= plan::kBeforeMain;
  header_.test_library = AddText(options_.test_library);
  header_.seconds_per_frame = options_.seconds_per_frame;
  header_.memory_limit = options_.memory_limit;
  header_.queue_fd = options_.queue_fd;
  header_.workers = options_.workers;
  header_.inquiries_fd = options_.inquiries_fd;
  AddModules();
  AddMappings();
  AddEntryMappings();
  AddRuns();
  AddAbsent();
  AddPatches();
  files_ = Files(report_.files);
  AddInputs();
  for (const ReplayFrame& frame : report_.replay.frames) AddFrame(frame);
  AddSymbols();
  AddFailure();
  AddProcess();
  header_.watched = AddTable(options_.watched);
  return Write();
}

Result<Fd> BuildPlan(const TestReport& report, const ProgramFile& program, const std::vector<RebuiltLibrary>& libraries,
                     const PlanOptions& options) {
  return PlanBuilder(report, program, libraries, options).Build();
}

}  // namespace recrash
