// Of programs that recorded each entry themselves all states but the outermost one are taken away and derived again.
#include "testgen/derive/derive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/rseq.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "agent/report/pages.h"
#include "agent/report/recorded_states.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kWord = sizeof(uint64_t);

constexpr char kHead[] = R"(
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#define NOINLINE __attribute__((noinline))
)";

// Each function calls the recorder first, by a compiler option in place of patched entries. What the loader binds later
// is bound at the start in a replay, and is so here.
class Recorded : public ReplayedProgram {
 public:
  explicit Recorded(const std::string& source, const std::string& flags = "-O2 -g",
                    const std::string& options = "snapshot_cpu=100,snapshot_pause=1000")
      : ReplayedProgram(kHead + source,
                        flags + " -Wl,-z,now -pg -mfentry " RECRASH_TEST_ENTRY_CALLS
                                " -Wl,-u,__recrash_client_anchor -Xlinker " RECRASH_TEST_RECORDING_CLIENT,
                        {}, "references", options) {
    states_ = RecordedStates(report(), report().replay.frames);
  }

  // Of the innermost one.
  uint32_t IndexOf(const std::string& function) const {
    for (const ReplayFrame& frame : report().replay.frames)
      if (frame.function.starts_with(function + "(") || frame.function == function) return frame.index;
    return UINT32_MAX;
  }

  // Only the frame of this function has its state, and all others inside of it are derived from that.
  Derivation DeriveFrom(const std::string& function) {
    return DeriveFrom([&](uint32_t frame) { return frame == IndexOf(function); });
  }

  Derivation DeriveFrom(const std::function<bool(uint32_t frame)>& has_state) {
    std::vector<EntryState>& kept = report().replay.entry_states;
    kept = states_;
    std::erase_if(kept, [&](const EntryState& state) { return !has_state(state.frame); });
    EXPECT_FALSE(kept.empty());
    std::vector<uint32_t> all;
    for (const ReplayFrame& frame : report().replay.frames) all.push_back(frame.index);
    DeriveOptions options;
    options.replay.program = fixture().path();
    options.replay.support_directory = RECRASH_TEST_SUPPORT_DIRECTORY;
    options.replay.allow_same_bases = same_bases;
    options.seconds = seconds;
    const Result<Derivation> derivation = DeriveEntryStates(report(), all, options);
    EXPECT_TRUE(derivation) << derivation.error().message;
    return derivation ? *derivation : Derivation{};
  }

  void Add(const std::vector<EntryState>& states) {
    std::vector<EntryState>& all = report().replay.entry_states;
    std::erase_if(all,
                  [&](const EntryState& old) { return std::ranges::count(states, old.frame, &EntryState::frame); });
    all.insert(all.end(), states.begin(), states.end());
    std::ranges::sort(all, {}, &EntryState::frame);
  }

  const ReplayFrame& FrameOf(uint32_t index) const {
    return *std::ranges::find(report().replay.frames, index, &ReplayFrame::index);
  }
  const std::vector<EntryState>& states() const { return states_; }

  double seconds = 30;
  bool same_bases = true;

 private:
  std::vector<EntryState> states_;
};

const EntryState* Find(const std::vector<EntryState>& states, uint32_t frame) {
  const auto found = std::ranges::find(states, frame, &EntryState::frame);
  return found == states.end() ? nullptr : &*found;
}

std::string Text(const Derivation& derivation) {
  std::string text = "derived:";
  for (const EntryState& state : derivation.states) text += " " + std::to_string(state.frame);
  for (const auto& [frame, reason] : derivation.reasons) text += "; " + std::to_string(frame) + ": " + reason;
  return text;
}

// All of the memory that a replay from this state has.
Pages MemoryOf(const Report& report, const EntryState& state) {
  Pages pages = PagesOf(report, state);
  Pages crash;
  LayPages(report.memory, &crash);
  pages.insert(crash.begin(), crash.end());
  return pages;
}

uint64_t WordAt(const Pages& pages, uint64_t address) {
  const auto page = pages.find(address & ~(kPage - 1));
  uint64_t word = 0;
  if (page != pages.end()) memcpy(&word, page->second + address % kPage, sizeof word);
  return word;
}

std::vector<std::string> Files(const EntryState& state) {
  std::vector<std::string> files;
  for (const OpenFile& file : state.files)
    files.push_back(std::to_string(file.descriptor) + " " + file.path + " at " + std::to_string(file.offset));
  return files;
}

struct Difference {
  uint64_t address, recorded, derived;
};

std::vector<Difference> Differences(const Report& report, const EntryState& recorded, const EntryState& derived) {
  const Pages then = MemoryOf(report, recorded);
  const Pages now = MemoryOf(report, derived);
  Pages all = then;
  all.insert(now.begin(), now.end());
  std::vector<Difference> differences;
  for (const auto& [page, bytes] : all) {
    for (uint64_t at = page; at < page + kPage; at += kWord) {
      if (WordAt(then, at) != WordAt(now, at)) differences.push_back({at, WordAt(then, at), WordAt(now, at)});
    }
  }
  return differences;
}

// With which a replay calls; of rbx, rbp, r12 to r15 and rax.
constexpr uint64_t kRax = 8;
constexpr size_t kOtherRegisters = 7;

// What a replay cannot have as it was, and nobody reads: what lies below the stack or beyond the heap; what the outer
// frame's caller had in registers that are no arguments, where functions inside have put them on the stack; ld.so's own
// data, which stays each process's; the processor's number, which the kernel writes into a thread's rseq area.
bool MayDiffer(const Report& report, const ReplayFrame& outer, const ReplayFrame& frame, TargetAddress brk_end,
               const Difference& difference) {
  const uint64_t address = difference.address;
  if (address >= brk_end.value && address < report.process.brk_end.value) return true;
  const Mapping* stack = report.FindMapping(frame.entry_sp);
  if (stack && address >= stack->start.value && address < frame.entry_sp.value) return true;
  if (address > frame.entry_sp.value && address < outer.entry_sp.value)
    return difference.derived == 0 || difference.derived == kRax;
  const Module* module = report.FindModule({address});
  if (module && module->path.find("/ld-linux") != std::string::npos) return true;
  const uint64_t rseq = report.failing_thread()->registers.fs_base + static_cast<uint64_t>(__rseq_offset);
  return address >= rseq && address < rseq + 32;
}

void ExpectEqual(const Recorded& program, const Derivation& derivation, uint32_t outer, uint32_t frame) {
  const EntryState* recorded = Find(program.states(), frame);
  const EntryState* derived = Find(derivation.states, frame);
  ASSERT_TRUE(recorded && derived) << frame << ": " << Text(derivation);
  size_t zero = 0;
  for (const Difference& d : Differences(program.report(), *recorded, *derived)) {
    const ReplayFrame& from = program.FrameOf(outer);
    EXPECT_TRUE(MayDiffer(program.report(), from, program.FrameOf(frame), recorded->brk_end, d))
        << "frame " << frame << ": " << std::hex << d.address << " recorded " << d.recorded << " derived " << d.derived;
    zero += d.address > program.FrameOf(frame).entry_sp.value && d.address < from.entry_sp.value;
  }
  EXPECT_LE(zero, kOtherRegisters);
  EXPECT_EQ(derived->brk_end, recorded->brk_end);
  EXPECT_EQ(derived->origin, Origin::kDerived);
  EXPECT_EQ(derived->outer, outer);
  EXPECT_THAT(Files(*derived), ElementsAreArray(Files(*recorded)));
}

void ExpectAllEqual(Recorded& program, const std::string& function) {
  const Derivation derivation = program.DeriveFrom(function);
  const uint32_t outer = program.IndexOf(function);
  EXPECT_TRUE(derivation.reasons.empty()) << Text(derivation);
  EXPECT_EQ(derivation.states.size(), outer) << Text(derivation);
  for (uint32_t frame = 0; frame < outer; ++frame) ExpectEqual(program, derivation, outer, frame);
}

// The reason that a frame has no derived state, while all others inside have one.
std::string ReasonOf(Recorded& program, const std::string& outer, const std::string& function) {
  const Derivation derivation = program.DeriveFrom(outer);
  EXPECT_EQ(derivation.reasons.size(), 1u) << Text(derivation);
  const auto found = derivation.reasons.find(program.IndexOf(function));
  return found == derivation.reasons.end() ? Text(derivation) : found->second;
}

// Lists are built and taken apart, the heap grows, a file is read and another opened, a global counts.
constexpr char kChain[] = R"(
struct Node { Node* next; long value; };
struct Work { Node* first; void* last; int in, other; char text[64]; };
static long rounds = 40;
NOINLINE long Use(long* item, long sum) { return *item + sum; }
NOINLINE long Inner(Work* work, long* item) {
  long sum = 0;
  while (Node* node = work->first) {
    work->first = node->next;
    sum += node->value;
    std::memset(node + 1, 7, 900);  // zero until then, and beyond the heap of Outer's entry
    asm volatile("" : : "r"(node) : "memory");
    std::free(node);
  }
  ++rounds;
  if (read(work->other, work->text + 2, 1) != 1 || work->text[2] != 'b') return 0;
  return Use(sum == 79800 && rounds == 43 && work->text[0] == 'c' ? nullptr : item, sum) + 1;
}
NOINLINE long Middle(Work* work, long* item) {
  for (long i = 0; i < 400; ++i) work->first = new (std::malloc(1000)) Node{work->first, i};
  work->last = std::malloc(1000);  // the heap keeps its end
  if (read(work->in, work->text, 2) != 2) return 0;
  work->other = open("input", O_RDONLY);
  if (read(work->other, work->text + 2, 1) != 1) return 0;
  ++rounds;
  return Inner(work, item) + 1;
}
NOINLINE long Outer(Work* work, long* item) {
  if (read(work->in, work->text, 2) != 2) return 0;
  ++rounds;
  return Middle(work, item) + 1;
}
int main() {
  { FILE* file = std::fopen("input", "w"); std::fputs("abcdefgh", file); std::fclose(file); }
  Work work{};
  work.in = open("input", O_RDONLY);
  long item = 3;
  return Outer(&work, &item) == 0;
}
)";

TEST(Derive, EqualsWhatWasRecorded) {
  Recorded program(kChain);
  ExpectAllEqual(program, "Outer");
}

// Replayed from its derived state each frame fails again; from the memory of the crash it does not.
TEST(Derive, ReproducesWhatHasMovedOn) {
  Recorded program(kChain);
  const Derivation derivation = program.DeriveFrom("Outer");
  for (const char* function : {"Middle", "Inner"})
    EXPECT_NE(program.Verify(function).verdict, Verdict::kReproduced) << program.text();
  program.Add(derivation.states);
  for (const char* function : {"Middle", "Inner"}) {
    const FrameVerdict verdict = program.Verify(function);
    EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
    EXPECT_EQ(verdict.derived_from, program.IndexOf("Outer"));
  }
  EXPECT_EQ(program.Verify("Outer").derived_from, std::nullopt);
}

// One function at several depths, and each of them several times at the same stack pointer: the last entry counts.
TEST(Derive, TellsEntriesOfOneFunctionApart) {
  Recorded program(R"(
static long visits;
NOINLINE long Visit(long* item, long depth) {
  if (++visits >= 40 && depth == 4) return *static_cast<volatile long*>(nullptr);
  long sum = 0;
  for (int i = 0; i < 3 && depth < 4; ++i) sum += Visit(item, depth + 1);
  return sum + *item;
}
NOINLINE long Outer(long* item) { return Visit(item, 0) + 1; }
int main() { long item = 3; return Outer(&item) == 0; }
)");
  ASSERT_EQ(program.IndexOf("Outer"), 5u);
  ExpectAllEqual(program, "Outer");
}

// More often than entries are counted by themselves: from the entry of a frame outside on.
TEST(Derive, FindsTheLastEntryOfAHotFunction) {
  Recorded program(R"(
static long visits;
NOINLINE long Hot(long* item, long n) { return ++visits == 9000 ? *static_cast<volatile long*>(nullptr) : *item + n; }
NOINLINE long Middle(long* item) {
  long sum = 0;
  for (int i = 0; i < 3000; ++i) sum += Hot(item, i);
  return sum;
}
NOINLINE long Outer(long* item) {
  long sum = 0;
  for (int i = 0; i < 4; ++i) sum += Middle(item);
  return sum;
}
int main() { long item = 3; return Outer(&item) == 0; }
)",
                   "-O2 -g -fno-inline", "snapshot_cpu=100,snapshot_pause=1000");
  const Derivation derivation = program.DeriveFrom("Outer");
  EXPECT_EQ(derivation.states.size(), 2u) << Text(derivation);
  const EntryState* hot = Find(derivation.states, program.IndexOf("Hot"));
  ASSERT_TRUE(hot);
  program.Add(derivation.states);
  const FrameVerdict verdict = program.Verify("Hot");
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
}

// Memory that was mapped in the meantime, and is not at the crash any more, is mapped elsewhere in a replay.
TEST(Derive, MapsWhatWasMappedInBetween) {
  Recorded program(R"(
static char* block;
NOINLINE long Use(long* item, long n) { return *item + n; }
NOINLINE long Inner(long* item) {
  if (!block) return 0;
  const long n = static_cast<long>(std::strlen(block));
  std::free(block);
  block = nullptr;
  return Use(n == 1000000 ? nullptr : item, n) + 1;
}
NOINLINE long Outer(long* item) {
  block = static_cast<char*>(std::calloc(1 << 20, 1));
  std::memset(block, 'x', 1000000);
  return Inner(item) + 1;
}
int main() { long item = 3; return Outer(&item) == 0; }
)");
  const Derivation derivation = program.DeriveFrom("Outer");
  EXPECT_NE(program.Verify("Inner").verdict, Verdict::kReproduced) << program.text();
  program.Add(derivation.states);
  EXPECT_EQ(program.Verify("Inner").verdict, Verdict::kReproduced) << Text(derivation) << "\n" << program.text();
}

// A block that is mapped elsewhere in the replay is handed on: the call gets it where it lies now.
TEST(Derive, HandsOverWhatLiesElsewhere) {
  Recorded program(R"(
NOINLINE long Use(long* item, long n) { return *item + n; }
NOINLINE long Inner(char** block, char* text, long* item) {
  const bool first = *block != nullptr;
  const long n = static_cast<long>(std::strlen(text));
  std::free(*block);
  *block = nullptr;
  return Use(first && n == 1000000 ? nullptr : item, n) + 1;
}
NOINLINE long Outer(char** block, long* item) {
  *block = static_cast<char*>(std::calloc(1 << 20, 1));
  std::memset(*block, 'x', 1000000);
  return Inner(block, *block, item) + 1;
}
int main() { char* block = nullptr; long item = 3; return Outer(&block, &item) == 0; }
)");
  Derivation derivation = program.DeriveFrom("Outer");
  const auto inner = std::ranges::find(derivation.states, program.IndexOf("Inner"), &EntryState::frame);
  ASSERT_TRUE(inner != derivation.states.end()) << Text(derivation);
  std::vector<EntryState> without_arguments = {*inner};
  without_arguments[0].arguments.clear();
  program.Add(without_arguments);
  EXPECT_NE(program.Verify("Inner").verdict, Verdict::kReproduced) << program.text();
  program.Add({*inner});
  EXPECT_EQ(program.Verify("Inner").verdict, Verdict::kReproduced) << program.text();
}

// ---- Replays that go astray --------------------------------------------------------------------------------------

// Elsewhere() is true in a replay: a process of another number.
constexpr char kAstray[] = R"(
#include <alloca.h>
static int process;
inline bool Elsewhere() { return getpid() != process; }
NOINLINE long Use(long* item, long n) { return *item + n; }
NOINLINE long Inner(long* item, long n) { return Use(n ? nullptr : item, 1) + 1; }
NOINLINE long Outer(long* item) { BODY }
int main() {
  process = getpid();
  long item = 3;
  return Outer(&item) == 0;
}
)";

std::string Astray(const std::string& body) {
  std::string source = kAstray;
  return source.replace(source.find("BODY"), 4, body);
}

TEST(Derive, SaysThatTheOuterFrameDoesSomethingElse) {
  Recorded program(Astray("return Elsewhere() ? 1 : Inner(item, 7) + 1;"));
  const Derivation derivation = program.DeriveFrom("Outer");
  EXPECT_TRUE(derivation.states.empty());
  EXPECT_EQ(derivation.reasons.at(program.IndexOf("Inner")), "frame 2 replayed from its entry: returned");
}

TEST(Derive, SaysThatAnEntryWasNotComeTo) {
  Recorded program(Astray("return Elsewhere() ? Use(nullptr, 1) + 2 : Inner(item, 7) + 1;"),
                   "-O2 -g -falign-functions=64");
  const Derivation derivation = program.DeriveFrom("Outer");
  EXPECT_THAT(derivation.reasons.at(program.IndexOf("Inner")),
              HasSubstr("frame 2 replayed from its entry did not come to it"));
}

TEST(Derive, SaysThatTheStackPointerWasAnother) {
  Recorded program(Astray(R"(
    volatile char* room = static_cast<char*>(alloca(Elsewhere() ? 4096 : 64));
    room[0] = 1;
    return Inner(item, 7) + room[0];)"));
  const Derivation derivation = program.DeriveFrom("Outer");
  EXPECT_THAT(derivation.reasons.at(program.IndexOf("Inner")),
              HasSubstr("frame 2 replayed from its entry did not come to it"));
}

TEST(Derive, SaysThatArgumentsWereOthers) {
  Recorded program(Astray("return Inner(item, Elsewhere() ? 8 : 7) + 1;"));
  EXPECT_EQ(ReasonOf(program, "Outer", "Inner"), "frame 2 replayed from its entry came to it with other arguments");
}

TEST(Derive, SaysThatAReplayDidNotEnd) {
  Recorded program(Astray("while (Elsewhere()) usleep(1000); return Inner(item, 7) + 1;"));
  program.seconds = 0.5;
  const Derivation derivation = program.DeriveFrom("Outer");
  EXPECT_THAT(derivation.reasons.at(program.IndexOf("Inner")), HasSubstr("frame 2 replayed from its entry: waited"));
}

// A replay with modules elsewhere has other addresses in its memory than the report.
TEST(Derive, NeedsTheRecordedAddresses) {
  Recorded program(kChain);
  program.same_bases = false;
  const Derivation derivation = program.DeriveFrom("Outer");
  EXPECT_TRUE(derivation.states.empty());
  EXPECT_THAT(derivation.reasons.at(0), HasSubstr("does not lie at its recorded address"));
}

// Each of these frames has another one just outside of it whose state was recorded: none of the replays goes astray.
TEST(Derive, HasNoLimitToReplaysThatHelp) {
  Recorded program(R"(
    int g_written;
    NOINLINE int Down(int* p, int n) {
      g_written = n;
      const int below = n == 0 ? *p : Down(p, n - 1);
      return below + g_written;
    }
    int main() { return Down(nullptr, 12) + 1; })");
  const uint32_t last = program.IndexOf("main");
  ASSERT_EQ(last, 13u);
  const Derivation derivation = program.DeriveFrom([](uint32_t frame) { return frame % 2 == 1; });
  for (uint32_t frame = 0; frame < last; frame += 2)
    EXPECT_NE(Find(derivation.states, frame), nullptr) << frame << ", " << Text(derivation);
}

}  // namespace
}  // namespace recrash
