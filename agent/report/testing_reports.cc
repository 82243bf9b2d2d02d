#include "agent/report/testing_reports.h"

#include <cstdio>
#include <sstream>
#include <type_traits>

#include "agent/report/fields.h"

namespace recrash {
namespace {

std::vector<uint8_t> Pattern(size_t size, uint8_t seed) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(seed + i * 7 + i / 251);
  return bytes;
}

Registers SomeRegisters(uint64_t seed) {
  Registers registers;
  for (size_t i = 0; i < registers.dwarf.size(); ++i) registers.dwarf[i] = seed * 1000 + i;
  registers.fs_base = 0x7f0000000000 + seed;
  registers.eflags = 0x10246 + seed;
  registers.fxsave = Pattern(512, static_cast<uint8_t>(seed));
  return registers;
}

SnapshotLog SomeSnapshots() {
  EntryState outer;
  outer.number = 3;
  outer.registers = {{1, 2, 3, 4, 5, 6}, {{}, {}, {}, {}, {}, {}, {}, {9, 8, 7}}, 0x401130, 0x7ffe00001000};
  outer.thread = 4712;
  outer.others_ran = true;
  outer.copied_depth = 3;
  outer.copies_cut = true;
  outer.brk_end = {0x1020000};
  outer.mappings = {{{0x7f1000000000}, {0x7f1000100000}, kMapRead | kMapWrite, 0, ""}};
  outer.files = {{3, 0, 12, 0100644, 5678, "/var/lib/app/input"}};
  outer.not_loaded = {{0x7f2000000000}};
  EntryState inner;
  inner.number = 7;
  const std::vector<EntryMemory> memories = EntryMemory::Of(
      {{{{0x1000000}, Pattern(4096, 11)}, {{0x7f1000000000}, Pattern(8192, 12)}}, {{{0x1000000}, Pattern(4096, 13)}}});
  outer.memory = memories[0];
  inner.memory = memories[1];
  return {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, {outer, inner}, {}};
}

EntryState StateOf(uint32_t frame, EntryMemory::Layer pages) {
  EntryState state;
  state.frame = frame;
  state.memory = std::move(pages);
  return state;
}

ReplayData SomeReplay() {
  ReplayWord word;
  word.location = abi::Location::kStack;
  word.stack_offset = 24;
  word.size = 5;
  word.bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  word.parameter = 2;
  word.source_offset = 8;
  word.source = ValueSource::kDwarf;
  ReplayFrame frame;
  frame.index = 3;
  frame.linkage_name = "_ZN4Tree6insertEi";
  frame.function = "Tree::insert(int)";
  frame.file = "/src/tree.cc";
  frame.line = 41;
  frame.entry = {0x401130};
  frame.entry_sp = {0x7ffe00001000};
  frame.words = {word, {.location = abi::Location::kRdi, .size = 8, .source = ValueSource::kRecord}};
  frame.fields = {{{0x602000}, {9, 8, 7}, 2}};
  frame.streams = {{.parameter = 2, .kind = StreamKind::kFile}, {.parameter = 4, .offset = 16}};
  frame.caught = {"St9exception", ""};
  frame.start = {.depth = 1, .from_entry = true, .sealed = true, .rewind = frame.StreamBits()};
  frame.parameters = {{.number = 2, .name = "tree", .type = 1, .indirect = true}};
  frame.inlined_at = {0x401234};
  frame.dangling = "entry";
  frame.literals = {{"self->size_", 0x1234567890abcdef}};
  frame.changed_call = true;
  ReplayData replay;
  replay.frames = {frame, {}};
  replay.place = {"_ZN4Tree4findEi",
                  "/src/find.cc",
                  7,
                  {0x401200},
                  {0x4011f0},
                  0x40,
                  {{"Tree::find", "/src/find.cc"}, {"main", "/src/main.cc"}},
                  {{{0x401300}, {0x401308}}},
                  5};
  replay.images = {{{0x400000},
                    {{{0x400000}, Pattern(4096, 3)}, {{0x403000}, Pattern(100, 4)}},
                    {{0x1130, 0x40, true, "_ZN4Tree6insertEi"}, {0x3000, 8, false, "counter@tree.cc"}}},
                   {{0x500000}, {}, {}},
                   {{0x600000}, {{{0x600800}, Pattern(50, 7)}}, {{0x20, 4, true, "leaf"}}}};
  replay.images[0].types = {
      {},
      {.form = TypeForm::kClass,
       .name = "Tree",
       .size = 16,
       .members = {{MemberRole::kVtable, "_vptr$Tree", 0, 2}, {MemberRole::kMember, "depth", 8, 3, 4, 12}},
       .slots = 2,
       .arguments = {3},
       .derived = {1}},
      {.form = TypeForm::kPointer, .size = 8, .target = 1},
      {.form = TypeForm::kInteger, .name = "int", .size = 4, .is_signed = true},
      {.form = TypeForm::kArray, .name = "int[3]", .size = 12, .target = 3, .count = 3}};
  replay.images[0].variables = {{"forest", 0x3010, 1}};
  replay.images[0].inlined = {"_ZN4Tree4SizeEv"};
  replay.images[0].stack_variables = {{0x7ffe00000010, 1, 3}};
  replay.images[0].thread_locals = {{8, 16, false, "depth@tree.cc"}};
  replay.entry_states = {StateOf(1, {{{0x1000000}, Pattern(4096, 8)}, {{0x7f1000000000}, Pattern(8192, 9)}}),
                         StateOf(2, {}), StateOf(3, {{{0x1000000}, Pattern(4096, 10)}})};
  replay.load_order = {1, 0};
  EntryState& outer = replay.entry_states[0];
  outer.brk_end = {0x1020000};
  outer.mappings = {{{0x7f1000000000}, {0x7f1000100000}, kMapRead | kMapWrite, 0, ""}};
  outer.files = {{3, 0, 12, 0100644, 5678, "/var/lib/app/input"}};
  outer.not_loaded = {{0x7f2000000000}};
  outer.copied_depth = 2;
  EntryState& derived = replay.entry_states[2];
  derived.brk_end = {0x1021000};
  derived.origin = Origin::kDerived;
  derived.outer = 4;
  return replay;
}

// Writes values one a line.
class Dumper {
 public:
  template <typename T>
  Dumper& operator<<(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      text_ << static_cast<uint64_t>(value) << '\n';
    } else if constexpr (std::is_same_v<T, std::string>) {
      text_ << value.size() << ':' << value << '\n';
    } else if constexpr (std::is_arithmetic_v<T>) {
      text_ << +value << '\n';
    } else if constexpr (requires { value.has_value(); }) {
      text_ << "present " << value.has_value() << '\n';
      if (value) *this << *value;
    } else if constexpr (requires { std::begin(value); }) {
      text_ << "list of " << std::size(value) << '\n';
      for (const auto& element : value) *this << element;
    } else if constexpr (requires { value.state.origin; }) {
      *this << value.state.origin << value.state.outer;
    } else if constexpr (requires { value.layers(); }) {
      *this << value.layers();
    } else if constexpr (requires { value.frame.start; }) {
      *this << value.frame.start.rewind;
    } else if constexpr (requires { value.field; }) {
      *this << value.field;
    } else {
      Fields(value, [&](auto&&... field) { (*this << ... << field); });
    }
    return *this;
  }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
};

}  // namespace

TestReport FullReport() {
  TestReport report;
  report.process = {4711,
                    "/opt/app/bin/server",
                    "/var/lib/app",
                    {"server", "--port", "", "80"},
                    "1.2.3",
                    "full",
                    "memory=64",
                    {0x1000000},
                    {0x1021000},
                    8u << 20,
                    1700000000123456789,
                    9'000'000};
  report.failure = {FailureKind::kException,
                    6,
                    -6,
                    {0xdead0},
                    {0x401234},
                    "free(): double free detected in tcache 2",
                    "St13runtime_error",
                    "no such key",
                    "index out of range"};
  report.threads = {{4711, "server", false, SomeRegisters(1)}, {4712, "worker", true, SomeRegisters(2)}};
  report.modules = {{"/opt/app/bin/server", "3f2a00ff", {0x400000}, 0x6000, 7, true},
                    {"/lib/libc.so.6", "", {0x7f0000000000}, 0x1d0000, 0x7f0000000000, false}};
  report.mappings = {{{0x400000}, {0x406000}, kMapRead | kMapExecute, 0, "/opt/app/bin/server"},
                     {{0x1000000}, {0x1021000}, kMapRead | kMapWrite, 0, "[heap]"},
                     {{0x7f0000000000}, {0x7f00001d0000}, kMapRead | kMapShared, 0x2000, "/lib/libc.so.6"}};
  report.files = {{0, 2, 0, 020620, 0, "/dev/pts/0"}, {3, 0, 1234, 0100644, 5678, "/var/lib/app/input", 1}};
  report.inputs = {{{"../app/names", "/var/lib/app/names"},
                    "/var/lib/app/names",
                    5000000,
                    std::string(64, 'a'),
                    InputContent::kTooLarge,
                    {}},
                   {{"input"}, "/var/lib/app/input", 5678, std::string(64, '7'), InputContent::kHeld, Pattern(5678, 9)},
                   {{}, "/tmp/empty (deleted)", 0, "", InputContent::kHeld, {}},
                   {{}, "/tmp/last", 3, "", InputContent::kHeld, {1, 2, 3}}};
  report.thrown = ThrownStack{SomeRegisters(3), {0x7ffe00000000}, Pattern(300, 5)};
  report.replaced = {"St12out_of_range", "map::at", {SomeRegisters(4), {0x7ffdfffff000}, Pattern(200, 7)}};
  // Two regions that touch, one beyond; the last one is larger than two chunks.
  report.memory = {{{0x1000000}, Pattern(4096, 1)},
                   {{0x1001000}, Pattern(8192, 2)},
                   {{0x7ffe00000000}, Pattern((2u << 20) + 12345, 6)}};
  report.memory_complete = false;
  report.losses = {"thread 4713 went away before it could be stopped", "the heap beyond 64 MiB"};
  report.inputs.push_back({{}, "/etc/app.ini", 2, "", InputContent::kHeld, {7, 8}, true});
  report.notes = {{"document", "letter.odt", true}, {"level", "2", false}};
  report.logs = {{LogKind::kStandardError, "/var/log/app.err", 70000, Pattern(400, 8)},
                 {LogKind::kNamed, "/var/log/app.log", 3, {1, 2, 3}}};
  report.snapshots = SomeSnapshots();
  report.code = {{{{0x401000}, Pattern(80, 3)}, {{0x7f0000001000}, Pattern(40, 4)}},
                 {{{0x401010}, 0x48, 0x58}, {{0x401011}, 0x00, 0x80}},
                 3};
  report.signature = "0123456789abcdef0123456789abcdef";
  report.replay = SomeReplay();
  return report;
}

TestReport SmallReport() {
  TestReport report;
  report.process.pid = 7;
  report.process.program = "/bin/x";
  report.failure.signal = 11;
  report.threads = {{7, "x", true, {}}};
  report.memory = {{{0x1000}, Pattern(40, 1)}, {{0x2000}, std::vector<uint8_t>(300, 0)}};
  report.inputs = {{{"in"}, "/in", 10, "", InputContent::kHeld, Pattern(10, 4)}};
  report.replay.images = {{{0x400000}, {{{0x400000}, Pattern(20, 3)}}, {}}};
  report.replay.place.function = "main";
  report.replay.entry_states = {StateOf(1, {{{0x1000}, Pattern(40, 2)}})};
  report.snapshots.emplace().states.emplace_back().memory = EntryMemory({{{0x1000}, Pattern(40, 5)}});
  return report;
}

std::string Dump(const Report& report) { return (Dumper() << report).text(); }

std::string Dump(const TestReport& report) {
  return (Dumper() << static_cast<const Report&>(report) << report.replay).text();
}

}  // namespace recrash
