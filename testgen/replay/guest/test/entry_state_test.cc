// Frames whose state has moved on between their entry and the crash: they fail again from the memory of their entry. It
// comes from a report that the program writes of itself there (RECRASH_REPORT), in the same run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>

#include "agent/report/recorded_states.h"
#include "testgen/replay/guest/test/testing_test_library.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kPage = 4096;

bool IsPrivate(const Mapping& mapping) { return (mapping.flags & kMapWrite) && !(mapping.flags & kMapShared); }

// The page at `address` as it was at the entry. One that had not been touched yet was zero, if it is nobody's data.
std::optional<std::vector<uint8_t>> PageAt(const Report& entry, TargetAddress address) {
  std::vector<uint8_t> bytes(kPage);
  if (entry.Read(address, bytes)) return bytes;
  const Mapping* mapping = entry.FindMapping(address);
  if (!mapping || !IsPrivate(*mapping) || mapping->path.starts_with('/')) return std::nullopt;
  return std::vector<uint8_t>(kPage);
}

void AddPage(const Report& entry, const Report& crash, TargetAddress address, EntryMemory::Layer* memory) {
  std::optional<std::vector<uint8_t>> then = PageAt(entry, address);
  std::vector<uint8_t> now(kPage);
  if (!then || (crash.Read(address, now) && now == *then)) return;
  memory->push_back({address, std::move(*then)});
}

// What is other in `entry` than in `crash`.
EntryState Difference(const Report& entry, const Report& crash, uint32_t frame) {
  EntryState state;
  state.frame = frame;
  state.brk_end = entry.process.brk_end;
  state.files = entry.files;
  for (const Module& module : crash.modules) {
    if (std::ranges::find(entry.modules, module.base, &Module::base) == entry.modules.end())
      state.not_loaded.push_back(module.base);
  }
  EntryMemory::Layer memory;
  for (const Mapping& mapping : entry.mappings) {
    if (!IsPrivate(mapping)) continue;
    if (!crash.FindMapping(mapping.start) || !crash.FindMapping(mapping.end - 1)) state.mappings.push_back(mapping);
    for (TargetAddress page = mapping.start; page < mapping.end; page = page + kPage) {
      AddPage(entry, crash, page, &memory);
    }
  }
  state.memory = std::move(memory);
  return state;
}

// Snapshot(why) reports once: in a replay the file that allows it is gone.
constexpr char kSnapshot[] = R"(
#include <recrash/recrash.h>
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
inline void Allow(const char* why) { close(open(why, O_CREAT | O_WRONLY, 0600)); }
inline void Snapshot(const char* why) { if (access(why, F_OK) == 0 && unlink(why) == 0) RECRASH_REPORT(why); }
)";

constexpr char kInclude[] = " -I" RECRASH_TEST_SOURCE_DIRECTORY "/include";

class MovedOn : public ReplayedProgram {
 public:
  // Each function's name is the reason that it gave to Snapshot.
  explicit MovedOn(const std::string& source, const std::string& flags = "-O2 -g")
      : ReplayedProgram(kSnapshot + source, flags + kInclude) {
    std::vector<EntryState>& states = report().replay.entry_states;
    for (const Report& entry : reported()) {
      for (const ReplayFrame& frame : report().replay.frames) {
        const std::string name = frame.function.substr(0, frame.function.find('('));
        if (name == entry.failure.reason) states.push_back(Difference(entry, report(), frame.index));
      }
    }
    std::ranges::sort(states, {}, &EntryState::frame);
  }

  std::string RebuildMoved(const std::string& source, const std::string& flags) {
    return Rebuild(kSnapshot + source, flags + kInclude);
  }
};

void ExpectFromEntry(const MovedOn& program, const std::string& function, VerifyOptions options = {}) {
  options.support_directory = RECRASH_TEST_REMEDIES_DIRECTORY;
  const FrameVerdict verdict = program.Verify(function, options);
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
  EXPECT_TRUE(verdict.start.from_entry) << program.text();
  EXPECT_EQ(verdict.start.depth, 0);
  EXPECT_FALSE(verdict.start.rewind);
}

void ExpectNeeded(const MovedOn& program, const std::string& function, const char* remedy, Verdict without) {
  VerifyOptions options;
  options.code.trust_report = true;  // it was written here
  ExpectFromEntry(program, function, options);
  const LeaveOut left_out(remedy);
  options.support_directory = RECRASH_TEST_REMEDIES_DIRECTORY;
  EXPECT_EQ(program.Verify(function, options).verdict, without) << "without " << remedy << ": " << program.text();
}

VerifyOptions Rebased() {
  VerifyOptions options;
  options.allow_same_bases = false;
  return options;
}

// A list that is consumed, a text so large that it is unmapped when it is freed, a global that counts.
constexpr char kQueue[] = R"(
EXTRA
struct Node { Node* next; long value; };
struct Queue { Node* first; char* text; };
static int rounds = 40;
__attribute__((noinline)) long Use(long* item, long sum) { BODY }
__attribute__((noinline)) long Drain(Queue* queue, long* item) {
  Snapshot("Drain");
  long sum = 0;
  while (Node* node = queue->first) {
    queue->first = node->next;
    sum += node->value;
    std::free(node);
  }
  if (queue->text) sum += std::strlen(queue->text);
  std::free(queue->text);
  queue->text = nullptr;
  return Use(sum == 1000006 && ++rounds == 42 ? nullptr : item, sum) + 1;
}
__attribute__((noinline)) long Work(Queue* queue, long* item) {
  Snapshot("Work");
  ++rounds;
  return Drain(queue, item) + 1;
}
int main() {
  Allow("Drain");
  Allow("Work");
  Queue queue{};
  for (long value = 1; value <= 3; ++value) queue.first = new Node{queue.first, value};
  queue.text = static_cast<char*>(std::calloc(1 << 20, 1));
  std::memset(queue.text, 'x', 1000000);
  long item = 3;
  return Work(&queue, &item) == 0;
}
)";

constexpr char kCrashing[] = "return *item + sum;";
constexpr char kFixed[] = "return item ? *item + sum : 0;";
// Moves everything behind it.
constexpr char kMore[] = R"(
int unrelated_table[3000] = {1, 2, 3};
__attribute__((used, noinline)) int Unrelated(int x) { std::printf("%d", x); return unrelated_table[x] + 7; }
)";

std::string Fill(std::string source, const std::string& extra, const std::string& body) {
  source.replace(source.find("EXTRA"), 5, extra);
  if (source.find("BODY") != std::string::npos) source.replace(source.find("BODY"), 4, body);
  return source;
}

TEST(EntryStates, ReproduceWhatHasMovedOn) {
  for (const char* flags : {"-O2 -g", "-O0 -g", "-O2 -g -no-pie -fno-pie"}) {
    MovedOn program(Fill(kQueue, "", kCrashing), flags);
    ASSERT_EQ(program.report().replay.entry_states.size(), 2u) << program.text();
    ExpectNeeded(program, "Drain", "entry_state", Verdict::kReturned);
    ExpectNeeded(program, "Work", "entry_state", Verdict::kReturned);
    EXPECT_FALSE(program.Verify("Use").start.from_entry) << program.text();
    program.report().replay.entry_states.clear();
    EXPECT_EQ(program.Verify("Drain").verdict, Verdict::kReturned) << program.text();
  }
}

TEST(EntryStates, ReproduceWhereBasesCannotBeForced) {
  const MovedOn program(Fill(kQueue, "", kCrashing));
  ExpectFromEntry(program, "Drain", Rebased());
  ExpectFromEntry(program, "Work", Rebased());
}

TEST(EntryStates, ReproduceInARebuiltProgramAndNotInAFixedOne) {
  for (const char* flags : {"-O2 -g", "-O2 -g -no-pie -fno-pie"}) {
    MovedOn program(Fill(kQueue, "", kCrashing), flags);
    VerifyOptions options;
    options.program = program.RebuildMoved(Fill(kQueue, kMore, kCrashing), flags);
    ExpectFromEntry(program, "Drain", options);
    ExpectFromEntry(program, "Work", options);
    options.program = program.RebuildMoved(Fill(kQueue, kMore, kFixed), flags);
    EXPECT_EQ(program.Verify("Drain", options).verdict, Verdict::kReturned) << flags << "\n" << program.text();
    EXPECT_EQ(program.Verify("Work", options).verdict, Verdict::kReturned) << flags << "\n" << program.text();
  }
}

// The heap was smaller at the entry. The blocks are the dead process's own only if it grows again in its place.
TEST(EntryStates, LetTheHeapGrow) {
  const MovedOn program(R"(
static char* blocks[400];
static int count;
__attribute__((noinline)) int Check(int* item, long distance) { return *item + (distance > 0); }
__attribute__((noinline)) int Fill(int* item) {
  Snapshot("Fill");
  const bool first = count == 0;
  for (char*& block : blocks) { block = static_cast<char*>(std::malloc(1000)); ++count; }
  const long distance = static_cast<char*>(sbrk(0)) - blocks[399];
  return Check(first && distance > 0 && distance < (1 << 20) ? nullptr : item, distance) + 1;
}
int main() {
  Allow("Fill");
  int item = 3;
  return Fill(&item) == 0;
}
)");
  ExpectNeeded(program, "Fill", "entry_heap", Verdict::kReturned);
}

// One descriptor has been read to its end, one was closed, one was opened.
TEST(EntryStates, HaveTheirOwnDescriptors) {
  MovedOn program(R"(
__attribute__((noinline)) int Use(int* item, int n) { return *item + n; }
__attribute__((noinline)) int Parse(int in, int other, int* item) {
  Snapshot("Parse");
  char text[100];
  const long size = read(in, text, sizeof text);
  const bool was_open = close(other) == 0;
  const int next = open("input", O_RDONLY);
  const bool once = size == 4 && std::memcmp(text, "ef\nz", 4) == 0 && was_open && next == other && in != next;
  return Use(once ? nullptr : item, fcntl(next + 1, F_GETFD) >= 0) + 1;
}
int main() {
  Allow("Parse");
  { FILE* file = std::fopen("input", "w"); std::fputs("abcd\nef\nz", file); std::fclose(file); }
  int item = 3;
  const int in = open("input", O_RDONLY);
  const int other = open("input", O_RDONLY);
  lseek(in, 5, SEEK_SET);
  return Parse(in, other, &item) == 0;
}
)");
  ExpectFromEntry(program, "Parse");
  for (EntryState& state : program.report().replay.entry_states) state.files = program.report().files;
  EXPECT_EQ(program.Verify("Parse").verdict, Verdict::kReturned) << program.text();
}

// What an entry had mapped is out of reach in all other replays: the crash is on memory that was given back.
TEST(EntryStates, MapNothingForOtherFrames) {
  const MovedOn program(R"(
__attribute__((noinline)) long Use(char* text) { return text[5] + 1; }
__attribute__((noinline)) long Drop(char* text) {
  Snapshot("Drop");
  std::free(text);
  return Use(text) + 1;
}
int main() {
  Allow("Drop");
  char* text = static_cast<char*>(std::calloc(1 << 20, 1));
  return Drop(text) == 0;
}
)");
  const FrameVerdict use = program.Verify("Use");
  EXPECT_EQ(use.verdict, Verdict::kReproduced) << program.text();
  EXPECT_FALSE(use.start.from_entry);
}

// An exception that left `noexcept` has unwound the stack: what is kept of the throw came after the entry.
TEST(EntryStates, HoldTheStackOfTheirOwnTime) {
  const MovedOn program(R"(
#include <stdexcept>
static int rounds;
__attribute__((noinline)) int Throw(int n) { if (n == 1) throw std::runtime_error("one"); return n; }
__attribute__((noinline)) int Count(int* items, int n) noexcept {
  Snapshot("Count");
  int sum = 0;
  for (int i = 0; i < n; ++i) { sum += items[i]; items[i] = 0; }
  return Throw(sum == 6 ? ++rounds : 0) + 1;
}
int main() {
  Allow("Count");
  int items[] = {1, 2, 3};
  return Count(items, 3) == 0;
}
)");
  ASSERT_EQ(program.report().failure.kind, FailureKind::kException);
  ExpectNeeded(program, "Count", "entry_state", Verdict::kReturned);
}

// ---- Recorded by the program itself ------------------------------------------------------------------------------

// What a user's build does by patched entries a compiler option does here: each function calls the recorder first.
class Recorded : public ReplayedProgram {
 public:
  explicit Recorded(const std::string& source, const std::string& options = "snapshot_cpu=100,snapshot_pause=1000")
      : ReplayedProgram(kSnapshot + source,
                        std::string("-O2 -g -pg -mfentry " RECRASH_TEST_ENTRY_CALLS
                                    " -Wl,-u,__recrash_client_anchor -Xlinker " RECRASH_TEST_RECORDING_CLIENT) +
                            kInclude,
                        {}, "references", options) {
    report().replay.entry_states = RecordedStates(report(), report().replay.frames);
  }
};

TEST(RecordedEntries, ReproduceWhatHasMovedOn) {
  Recorded program(Fill(kQueue, "", kCrashing));
  for (const char* function : {"Drain", "Work", "main"}) {
    const FrameVerdict verdict = program.Verify(function);
    EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << function << "\n" << program.text();
    EXPECT_TRUE(verdict.start.from_entry) << program.text();
  }
  EXPECT_EQ(program.Verify("Use").verdict, Verdict::kReproduced) << program.text();
  program.report().replay.entry_states.clear();
  EXPECT_EQ(program.Verify("Drain").verdict, Verdict::kReturned) << program.text();
}

// The descriptor was closed before the crash, so its name must have been kept at the entry.
TEST(RecordedEntries, HaveTheirOwnDescriptors) {
  const Recorded program(R"(
__attribute__((noinline)) int Use(int* item, int n) { return *item + n; }
__attribute__((noinline)) int Parse(int in, int* item) {
  char text[100];
  const long size = read(in, text, sizeof text);
  close(in);
  return Use(size == 4 && std::memcmp(text, "ef\nz", 4) == 0 ? nullptr : item, 1) + 1;
}
int main() {
  { FILE* file = std::fopen("input", "w"); std::fputs("abcd\nef\nz", file); std::fclose(file); }
  int item = 3;
  const int in = open("input", O_RDONLY);
  lseek(in, 5, SEEK_SET);
  return Parse(in, &item) == 0;
}
)");
  const FrameVerdict verdict = program.Verify("Parse");
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
  EXPECT_TRUE(verdict.start.from_entry) << program.text();
}

// ---- A library of the program's own ------------------------------------------------------------------------------

constexpr char kLibrary[] = R"(
EXTRA
static long left = 3;
static long* values;
extern "C" void Prepare() { values = new long[3]{1, 2, 3}; }
__attribute__((noinline)) long Look(long* item, long sum) { BODY }
extern "C" __attribute__((noinline)) long Take(long* item) {
  Snapshot("Take");
  long sum = 0;
  while (left > 0) { sum += values[--left]; values[left] = 0; }
  return Look(sum == 6 ? nullptr : item, sum) + 1;
}
)";

constexpr char kUser[] = R"(
extern "C" void Prepare();
extern "C" long Take(long* item);
int main() {
  Allow("Take");
  Prepare();
  long item = 3;
  return Take(&item) == 0;
}
)";

void BuildLibrary(const std::string& folder, const std::string& extra, const std::string& body) {
  std::ofstream(folder + "/take.cc") << kSnapshot << Fill(kLibrary, extra, body);
  const std::string command = "cd " + folder + " && rm -f libtake.so && " RECRASH_TEST_CXX " " + Monitored("-O2 -g") +
                              kInclude + " -fPIC -shared take.cc -o libtake.so";
  ASSERT_EQ(system(command.c_str()), 0) << command;
}

TEST(EntryStates, ReproduceInALibrary) {
  const TemporaryDirectory folder;
  BuildLibrary(folder.path(), "", kCrashing);
  const std::string link = " -L" + folder.path() + " -Wl,-rpath," + folder.path() + " -Wl,--no-as-needed -ltake";
  const MovedOn program(kUser, "-O2 -g" + link);
  ExpectNeeded(program, "Take", "entry_state", Verdict::kReturned);
  ExpectFromEntry(program, "Take", Rebased());
  BuildLibrary(folder.path(), kMore, kCrashing);
  ExpectFromEntry(program, "Take");
  BuildLibrary(folder.path(), kMore, kFixed);
  EXPECT_EQ(program.Verify("Take").verdict, Verdict::kReturned) << program.text();
}

// ---- A library that the program loads after the entry --------------------------------------------------------------

// It counts its uses, and its initialiser makes itself known to the program.
constexpr char kPlugin[] = R"(
extern "C" void Register(int* weight);
static int uses = 3;
static int weight = 7;
__attribute__((constructor)) static void Begin() { Register(&weight); }
__attribute__((noinline)) int Weigh(int* item) { return *item; }
extern "C" __attribute__((noinline)) int Use(int* item) { return ++uses == 4 ? Weigh(item) + 1 : uses; }
)";

// A plugin that registers twice is not known any more.
constexpr char kHost[] = R"(
#include <dlfcn.h>
static int* known;
extern "C" void Register(int* weight) { known = known ? nullptr : weight; }
__attribute__((noinline)) int Load(const char* name) {
  Snapshot("Load");
  void* library = dlopen(name, RTLD_NOW);
  auto* use = reinterpret_cast<int (*)(int*)>(library ? dlsym(library, "Use") : nullptr);
  return use && known && *known == 7 ? use(nullptr) + 1 : -1;
}
int main() {
  Allow("Load");
  return Load("PLUGIN") + 1;
}
)";

TEST(EntryStates, OpenLibrariesThatCameLater) {
  const TemporaryDirectory folder;
  const std::string plugin = folder.path() + "/plugin.so";
  std::ofstream(folder.path() + "/plugin.cc") << kPlugin;
  const std::string command = RECRASH_TEST_CXX " -O2 -g -fPIC -shared " + folder.path() + "/plugin.cc -o " + plugin;
  ASSERT_EQ(system(command.c_str()), 0) << command;
  std::string source = kHost;
  source.replace(source.find("PLUGIN"), 6, plugin);
  MovedOn program(source, "-O2 -g -rdynamic");
  ASSERT_EQ(program.report().replay.entry_states.size(), 1u);
  EXPECT_EQ(program.report().replay.entry_states[0].not_loaded.size(), 1u);
  // Its data are those of the crash: it is used for the second time.
  ExpectNeeded(program, "Load", "late_modules", Verdict::kReturned);
  // Nobody makes it known.
  ExpectNeeded(program, "Load", "late_initialisers", Verdict::kReturned);
}

// ---- As tests ----------------------------------------------------------------------------------------------------

std::string TestOf(const std::string& name, uint32_t frame) {
  return "TEST(Crash, " + name + ") { recrash::Frame frame(" + std::to_string(frame) +
         "); RECRASH_EXPECT_FIXED(frame.Call()); }\n";
}

uint32_t IndexOf(const TestReport& report, const std::string& function) {
  for (const ReplayFrame& frame : report.replay.frames) {
    if (frame.function.starts_with(function + "(")) return frame.index;
  }
  return UINT32_MAX;
}

// Whichever came before, in a child and in place, from an entry or from the crash: each test finds the memory that it
// needs.
TEST(EntryStates, AreWhatKeptTestsStartFrom) {
  MovedOn program(Fill(kQueue, "", kCrashing));
  for (ReplayFrame& frame : program.report().replay.frames) {
    frame.start.from_entry = program.report().replay.FindEntryState(frame.index) != nullptr;
  }
  std::string tests = "#include <recrash/test.h>\n";
  int number = 0;
  for (const char* function : {"Use", "Drain", "Use", "Work", "Drain", "Use", "Work"}) {
    tests += TestOf(function + std::to_string(number++), IndexOf(program.report(), function));
  }
  const std::string launcher = BuildTestLibrary(program, tests);
  for (const char* option : {"", " --recrash-in-process", " --recrash-no-same-bases"}) {
    const Ran ran = RunCommand("timeout 60 " + launcher + " --expect=fail" + option);
    EXPECT_EQ(ran.status, 0) << option << "\n" << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("[  PASSED  ] 7 tests.")) << option;
  }
  const std::string fixed = program.RebuildMoved(Fill(kQueue, kMore, kFixed), "-O2 -g");
  for (const char* option : {"", " --recrash-in-process"}) {
    const Ran ran = RunCommand("timeout 60 " + launcher + option + " --program " + fixed);
    EXPECT_EQ(ran.status, 0) << option << "\n" << ran.output;
  }
}

// What a report says of entry states may be made up: then they do not reproduce, and nothing else comes to harm.
TEST(EntryStates, ThatAreNoneEndNoReplay) {
  MovedOn program(Fill(kQueue, "", kCrashing));
  std::vector<EntryState>& states = program.report().replay.entry_states;
  const std::vector<EntryState> good = states;
  const auto expect_harmless = [&](const char* what) {
    EXPECT_NE(program.Verify("Drain").verdict, Verdict::kReproduced) << what << "\n" << program.text();
    EXPECT_EQ(program.Verify("Use").verdict, Verdict::kReproduced) << what << "\n" << program.text();
    states = good;
  };
  for (EntryState& state : states) state.memory = {};
  expect_harmless("no pages");
  for (EntryState& state : states) state.mappings.clear();
  expect_harmless("no mappings");
  for (EntryState& state : states) {
    EntryMemory::Layer memory = state.memory.own();
    memory.resize(1);
    memory[0].address = {0x1000};
    memory.push_back({{UINT64_MAX - kPage + 1}, std::vector<uint8_t>(kPage)});
    state.memory = std::move(memory);
    state.brk_end = {1};
  }
  expect_harmless("pages elsewhere");
  for (EntryState& state : states) {
    EntryMemory::Layer memory = state.memory.own();
    for (Region& region : memory) std::ranges::fill(region.bytes, 0xff);
    state.memory = std::move(memory);
  }
  expect_harmless("pages of rubbish");
}

}  // namespace
}  // namespace recrash
