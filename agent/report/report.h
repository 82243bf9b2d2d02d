// A report in memory: everything that was kept of a dying process; and what a replay needs besides, once `recrash
// generate` has read the program.
//
// A plain value: the collector fills it, the writer (writer.h) puts it on disk, the reader (reader.h) brings it back.
// A field that came from disk is hostile: the reader bounds its size, not its meaning.
#ifndef RECRASH_AGENT_REPORT_REPORT_H_
#define RECRASH_AGENT_REPORT_REPORT_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/report/type_layout.h"
#include "recrash/replay.h"
#include "shadowstack/abi.h"
#include "shadowstack/entry_hook.h"

namespace recrash {

// An address in the dying (or replayed) process. Never a pointer, so that nobody dereferences it by mistake.
struct TargetAddress {
  uint64_t value = 0;
  auto operator<=>(const TargetAddress&) const = default;
  TargetAddress operator+(uint64_t offset) const { return {value + offset}; }
  TargetAddress operator-(uint64_t offset) const { return {value - offset}; }
  uint64_t operator-(TargetAddress other) const { return value - other.value; }
};

// Indexed by DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip.
struct Registers {
  std::array<uint64_t, abi::kRegisterCount> dwarf{};
  uint64_t fs_base = 0;
  uint64_t eflags = 0;
  std::vector<uint8_t> fxsave;  // 512 bytes, or none

  uint64_t sp() const { return dwarf[7]; }
  uint64_t pc() const { return dwarf[16]; }
};

using abi::FailureKind;

struct Failure {
  FailureKind kind = FailureKind::kSignal;
  int32_t signal = 0;
  int32_t code = 0;       // si_code
  TargetAddress address;  // si_addr
  TargetAddress pc;
  std::string abort_message;   // glibc's __abort_msg ("free(): double free detected in tcache 2", assertion texts)
  std::string exception_type;  // mangled, as std::type_info::name() gives it
  std::string exception_what;
  std::string reason;  // RECRASH_REPORT
  // At the desk, of an exception that a handler caught: the type of the one that it threw in its place.
  std::string replaced_by = {};
};

// A failure that main caught: RECRASH_OPTIONS=exceptions=main. What main catches is not handled then.
constexpr bool CountsCaughtInMain(const Failure& failure) {
  return failure.kind == FailureKind::kException && failure.signal == 0;
}

struct Thread {
  int32_t id = 0;
  std::string name;
  bool failing = false;
  Registers registers;
};

// One loaded ELF file (program, library, ld.so, vdso).
struct Module {
  std::string path;
  std::string build_id;  // lower-case hex; empty when it has none
  TargetAddress base;    // address of the file's first PT_LOAD, page-aligned
  uint64_t size = 0;     // up to the end of its last PT_LOAD, page-aligned; .bss included
  uint64_t bias = 0;     // base minus the first PT_LOAD's page-aligned p_vaddr: 0 for a program that is not PIE
  bool is_program = false;
};

// The module that holds the address; null when none does.
const Module* FindModule(std::span<const Module> modules, TargetAddress address);

enum MappingFlags : uint32_t {
  kMapRead = 1,
  kMapWrite = 2,
  kMapExecute = 4,
  kMapShared = 8,
  kMapWithheld = 16,  // the report has nothing of it, on purpose: maps.h
};

// A line of /proc/PID/maps.
struct Mapping {
  TargetAddress start;
  TargetAddress end;
  uint32_t flags = 0;
  uint64_t file_offset = 0;
  std::string path;  // "", "[heap]", "[stack]", "[vdso]" or a file
};

// Present pages of a private writable mapping. Lists of regions are sorted by address; regions do not overlap.
struct Region {
  TargetAddress address;
  std::vector<uint8_t> bytes;
};

uint64_t SizeOf(const std::vector<Region>& regions);

struct OpenFile {
  int32_t descriptor = -1;
  int32_t flags = 0;  // of open(2)
  uint64_t offset = 0;
  uint32_t mode = 0;  // st_mode
  uint64_t size = 0;
  std::string path;    // what /proc/PID/fd says
  int32_t input = -1;  // index in Report::inputs, or -1
};

// What became of an input's content.
enum class InputContent : uint8_t {
  kHeld = 1,        // in the report
  kNotAsked = 2,    // RECRASH_OPTIONS=files=names
  kTooLarge = 3,    // kMaxHeldInput
  kNoRoom = 4,      // kMaxHeldInputs
  kUnreadable = 5,  // it could not be opened or read to its end
};

// "larger than 4 MiB"; empty for kHeld.
const char* WhyNotHeld(InputContent content);

constexpr uint64_t kMaxHeldInput = 4u << 20;
constexpr uint64_t kMaxHeldInputs = 16u << 20;  // of a report

// A regular file that the program was given: open at the crash, but not for writing alone, or named on its command
// line.
struct Input {
  std::vector<std::string> names;  // words of the command line, as the program got them
  std::string path;                // absolute, symbolic links resolved; what /proc/PID/fd says
  uint64_t size = 0;
  std::string sha256;  // lower-case hex; empty when it was not taken
  InputContent content = InputContent::kNotAsked;
  std::vector<uint8_t> bytes;  // `size` of them when held, else none
  bool attached = false;       // the program has named it (RECRASH_ATTACH): held as far as there was room

  bool held() const { return content == InputContent::kHeld; }
};

// RECRASH_NOTE.
struct Note {
  std::string key;
  std::string value;
  bool cut = false;  // it was longer
};

enum class LogKind : uint8_t {
  kStandardError = 1,
  kNamed = 2,  // RECRASH_LOG
};

// The end of a text that the program wrote.
struct KeptLog {
  LogKind kind = LogKind::kStandardError;
  std::string path;
  uint64_t size = 0;          // of the whole file
  std::vector<uint8_t> tail;  // its last bytes, as they were

  const char* title() const { return kind == LogKind::kStandardError ? "standard error" : "log"; }
};

// The stack at the throw of the exception that ended the program. `noexcept` has unwound the stack since.
struct ThrownStack {
  Registers registers;  // in the caller of __cxa_throw
  TargetAddress address;
  std::vector<uint8_t> bytes;
};

// An exception that a handler caught, and replaced by the one that ended the program.
struct ReplacedException {
  std::string type;  // as in Failure
  std::string what;  // empty also where it was not known any more
  ThrownStack stack;
};

// A byte of a module's code of which one bit was not as in the module's file.
struct FlippedByte {
  TargetAddress address;
  uint8_t in_file = 0;
  uint8_t in_memory = 0;
  auto operator<=>(const FlippedByte&) const = default;
};

constexpr size_t kMostFlippedBytes = 64;
constexpr uint64_t kMostKeptCode = 64 << 10;

// What lay in memory of the modules' code.
struct CodeInMemory {
  std::vector<Region> kept;  // around the failing instruction and the innermost return addresses; may overlap
  std::vector<FlippedByte> flipped = {};  // ascending; found where the program ran
  // Other bytes that were not as in their files: breakpoints, code that something has patched. Without those of an
  // agent that patches.
  uint64_t changed = 0;
};

enum class ValueSource : uint8_t { kUnknown = 0, kRecord = 1, kDwarf = 2, kRegister = 3 };

// One word of the call that a replay makes: put where the callee expects it.
struct ReplayWord {
  abi::Location location = abi::Location::kUnknown;
  uint16_t stack_offset = 0;  // for kStack
  uint16_t size = 0;          // 1..16
  std::array<uint8_t, 16> bytes{};
  uint8_t parameter = 0;       // DWARF number from 1; 0 when not known
  uint16_t source_offset = 0;  // where this piece lies in the parameter
  ValueSource source = ValueSource::kUnknown;
};

// The pages of an entry state, as layers over the memory of the crash: a page is as in the first layer that has it.
//
// A state that was taken alone has one layer. States that one program recorded share their layers: each has a layer of
// its own, over that of the state after it. So a page that many of them have is kept once, in memory and in the file.
class EntryMemory {
 public:
  using Layer = std::vector<Region>;  // whole pages

  EntryMemory() = default;
  // Of a state that was taken alone: the pages that differ from Report::memory, or that it does not have.
  EntryMemory(Layer pages);  // NOLINT(google-explicit-constructor)
  // Of successive states, the oldest first: the pages that differ from the next state's, of the last one from the
  // crash.
  static std::vector<EntryMemory> Of(std::vector<Layer> differences);

  // The state's own layer first.
  std::span<const Layer> layers() const;
  const Layer& own() const;

 private:
  std::shared_ptr<const std::vector<Layer>> layers_;
  size_t first_ = 0;
};

enum class Origin : uint8_t {
  kRecorded,  // by the program itself; a file of tests says so of kRerun too
  kRerun,     // in a run at the desk
  kDerived,   // in a replay of a frame outside
};

// A frame's arguments, memory, mappings and open files as at its entry.
struct EntryState {
  Origin origin = Origin::kRecorded;
  uint32_t outer = 0;       // kDerived: the frame that was replayed
  uint32_t frame = 0;       // ReplayFrame::index, once the frames are known
  uint64_t number = 0;      // of a recorded state: orders it among the others
  int32_t thread = 0;       // that entered the function; 0: not known
  bool others_ran = false;  // other threads may have written while the state was taken
  // Not 0: the state is approximate. The kernel tracked no writes; only memory that the arguments reached was copied,
  // to this depth. Other memory is that of the crash.
  uint8_t copied_depth = 0;
  bool copies_cut = false;  // a limit cut the copy short
  EntryRegisters registers{};
  // For a call from this state; empty: the frame's own. Some addresses may be others than at the crash. Not in the
  // file, where the frame that starts from the state has them.
  std::vector<ReplayWord> arguments;
  TargetAddress brk_end;          // the break at entry
  std::vector<Mapping> mappings;  // private writable ones that the report's do not cover: unmapped before the crash
  std::vector<OpenFile> files;    // all that were open at entry, with their offsets
  std::vector<TargetAddress> not_loaded;  // bases of the report's modules that were loaded after it
  EntryMemory memory;
};

// What the recorder of entry states did and what it cost.
struct SnapshotFigures {
  uint64_t taken = 0;
  uint64_t skipped_rate = 0;    // its function had one not long before
  uint64_t skipped_budget = 0;  // snapshot_cpu was spent
  uint64_t skipped_memory = 0;  // snapshot_memory was full
  uint64_t skipped_pause = 0;   // broken off at the longest pause
  uint64_t skipped_busy = 0;    // another thread was taking one
  uint64_t cpu_ns = 0;          // of snapshots
  uint64_t process_cpu_ns = 0;  // of the whole program
  uint64_t longest_pause_ns = 0;
  uint64_t pages_copied = 0;
  uint64_t log_bytes = 0;  // of page contents, at most at one time
  // Estimated, at the costs of one that shadowstack/log_format.h gives.
  uint64_t entries = 0;     // of watched functions, as far as they were counted
  uint64_t entries_ns = 0;  // time of these entries without snapshots
  uint64_t faults_ns = 0;   // time of the program's first writes to pages after a snapshot
};

// What the recorder knows of one function.
struct RecordedFunction {
  TargetAddress entry;
  uint64_t entries = 0;
  uint64_t snapshots = 0;
  uint64_t cpu_ns = 0;        // of these
  uint64_t inclusive_ns = 0;  // from entry to return, a recent mean; 0: not known
};

struct SnapshotLog {
  SnapshotFigures figures;
  std::vector<EntryState> states;           // of live frames, ascending by number; their memory is EntryMemory::Of
  std::vector<RecordedFunction> functions;  // of the process that was read; not in the file: they go into the profile
};

struct Process {
  int32_t pid = 0;
  std::string program;  // absolute path of the executable
  std::string working_directory;
  std::vector<std::string> arguments;
  std::string version;  // what the build says of itself (-recrash-version=); may be empty
  std::string mode;     // of the pass (references, full, …); empty for a program that was not instrumented
  std::string options;  // RECRASH_OPTIONS
  TargetAddress brk_start;
  TargetAddress brk_end;
  uint64_t stack_limit = 0;  // RLIMIT_STACK
  int64_t crashed_at = 0;    // Unix time, nanoseconds
  uint64_t collect_ns = 0;   // from the handler's first instruction until the report was complete
};

// ---- Added at the desk by `recrash generate` ---------------------------------------------------------------------

// Entry-time bytes that are written back before the call, at this depth and deeper ones.
struct ReplayField {
  TargetAddress address;
  std::vector<uint8_t> bytes;
  uint8_t depth = 1;  // 1: of what an argument points to; 2: of what such a field points to
};

enum class StreamKind : uint8_t { kIstream = 1, kFile = 2 };  // std::istream, FILE

// A parameter that points to a stream which the function may read, so that a replay may have to rewind it.
struct ReplayStream {
  uint8_t parameter = 0;  // DWARF number from 1
  StreamKind kind = StreamKind::kIstream;
  uint16_t offset = 0;  // of the std::istream in what the parameter points to
};

// A value that recrash wrote into the test of a frame. As long as the test has it, memory stays as it was.
struct ReplayLiteral {
  std::string path;     // "self->names_"
  uint64_t digest = 0;  // DigestOf(Value) of recrash/value.h
};

// A frame that can be called again.
struct ReplayFrame {
  uint32_t index = 0;  // in the back-trace, inlined frames counted
  std::string linkage_name;
  std::string function;  // as people read it
  std::string file;
  uint32_t line = 0;       // of the function's declaration
  TargetAddress entry;     // first instruction, as recorded
  TargetAddress entry_sp;  // stack pointer at that instruction: the return address lies there
  std::vector<ReplayWord> words;
  std::vector<ReplayField> fields;
  std::vector<ReplayStream> streams;
  Start start;                                   // from which it reproduced; set by verification
  std::vector<std::string> caught;               // mangled types of exceptions that recorded callers catch; "": any
  std::vector<ReplayParameter> parameters = {};  // none: the function has no debug information, or no parameters
  // Not 0: the call was inlined and began here. Then `entry` is of a copy of the function out of line; 0 if the build
  // that crashed has none, but a twin may. `entry_sp` lies below the frame of the function around.
  TargetAddress inlined_at;
  // A parameter that leads to a local of a function that has returned. What lies there is another build's choice.
  std::string dangling = {};
  std::vector<ReplayLiteral> literals = {};  // those that a test writes
  bool changed_call =
      false;  // the build that crashed does not pass all arguments where the ABI has them, as far as known

  bool needs_twin() const { return inlined_at.value != 0 && entry.value == 0; }
  // An address that tells functions apart.
  TargetAddress function_address() const { return needs_twin() ? inlined_at : entry; }
  // Of Start::rewind: all streams.
  uint64_t StreamBits() const;
};

struct Symbol {
  uint64_t offset = 0;  // from the module's base
  uint64_t size = 0;
  bool is_function = false;
  std::string name;  // locals as name@file
  bool operator==(const Symbol&) const = default;
};

// What a replay against another build of a module needs of the one that crashed: the program, or a library of its own.
struct ModuleImage {
  TargetAddress base;             // the module's
  std::vector<Region> read_only;  // contents of its segments that cannot be written, at recorded addresses
  std::vector<Symbol> symbols;    // sorted by offset
  // Of the types that parameters of the frames and variables lead to; none without debug information.
  std::vector<TypeLayout> types = {};
  std::vector<Variable> variables = {};
  std::vector<Symbol> thread_locals = {};           // offsets in the module's block; sorted by offset
  std::vector<std::string> inlined = {};            // linkage names of own functions that were inlined somewhere
  std::vector<StackVariable> stack_variables = {};  // of the failing stack, if parameters lead to such types
};

// A function of the program's own on the failing stack, as the source has it: inlined calls count.
struct SourceFrame {
  std::string function;  // as people read it, without its parameters
  std::string file;
};

struct CodeRange {
  TargetAddress start;
  TargetAddress end;
};

// How a replay tells whether it died in the same place.
struct Place {
  std::string function;  // linkage name of the innermost function of the program's own on the failing stack
  std::string file;
  uint32_t line = 0;
  TargetAddress pc;              // in it: the failing instruction, or the return address of its call
  TargetAddress function_start;  // of the function that pc lies in (out of line)
  uint64_t function_size = 0;
  std::vector<SourceFrame> chain;  // innermost first; what another build compares
  // The same source line in copies out of line of functions that are inlined on the failing stack: a test of an inlined
  // frame calls such a copy, and dies there.
  std::vector<CodeRange> copies;
  uint32_t declared = 0;  // the line that declares the innermost function of the chain; 0: not known
};

struct ReplayData {
  std::vector<ReplayFrame> frames;
  Place place;
  std::vector<ModuleImage> images;       // sorted by base
  std::vector<EntryState> entry_states;  // sorted by frame, at most one for each
  // Places in Report::modules, in the order in which the loader had loaded them; none: not known.
  std::vector<uint32_t> load_order = {};

  const EntryState* FindEntryState(uint32_t frame) const;
  const ModuleImage* FindImage(const Module& module) const;
};

// --------------------------------------------------------------------------------------------------------------------

struct Report {
  Process process;
  Failure failure;
  std::vector<Thread> threads;
  std::vector<Module> modules;
  std::vector<Mapping> mappings;
  std::vector<OpenFile> files;
  std::vector<Input> inputs;
  std::optional<ThrownStack> thrown;
  std::optional<ReplacedException> replaced;
  std::vector<Region> memory;
  bool memory_complete = true;           // false when the limit cut what was kept
  std::vector<std::string> losses;       // one sentence for each thing that could not be kept
  std::optional<SnapshotLog> snapshots;  // where the program recorded its entries
  // Equal in reports of the same crash: where its stack was, by build-ids and offsets (agent/store/signature.h); 32
  // digits, or empty: not known.
  std::string signature = {};
  std::vector<Note> notes;  // by key
  std::vector<KeptLog> logs;
  CodeInMemory code = {};

  const Thread* failing_thread() const;
  const Module* program() const;
  const Module* FindModule(TargetAddress address) const;
  const Mapping* FindMapping(TargetAddress address) const;
  // Copies what was kept at `address` into `out`; false when any byte of it was not.
  bool Read(TargetAddress address, std::span<uint8_t> out) const;
  std::optional<uint64_t> ReadWord(TargetAddress address) const;
};

// crash_test.rcr: a crash, and what the tests beside the file need to replay it.
struct TestReport : Report {
  ReplayData replay;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_REPORT_H_
