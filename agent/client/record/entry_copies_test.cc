// Where the kernel tracks no writes: what the arguments reached is in the report as it was at the entry, to the depth
// that was asked for, and the rest as at the crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <sstream>

#include "agent/client/record/testing_trace.h"
#include "agent/report/pages.h"
#include "agent/report/recorded_states.h"

namespace recrash {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kInMore = 16 + 24;  // of Node (testdata/reached.h)

TracedRun RunRefused(const std::string& what, const std::string& options = "", bool trace = true,
                     const std::string& refused = "userfaultfd", const std::string& without = "") {
  return RunEntries(
      what,
      {{"REFUSE", refused},
       {"RECRASH_OPTIONS", "snapshot_cpu=100,snapshot_pause=10000" + (options.empty() ? "" : "," + options)},
       {"RECRASH_WITHOUT", without}},
      trace);
}

uint64_t Printed(const TracedRun& run, const std::string& name) {
  std::istringstream words(run.output);
  for (std::string word; words >> word;)
    if (word == name && words >> word) return std::stoull(word, nullptr, 16);
  ADD_FAILURE() << name << " is not in " << run.output;
  return 0;
}

uint64_t WordIn(const std::vector<Region>& memory, uint64_t address) {
  uint64_t word = 0;
  for (const Region& region : memory) {
    if (region.address.value <= address && address + 8 <= region.address.value + region.bytes.size())
      std::memcpy(&word, region.bytes.data() + (address - region.address.value), sizeof word);
  }
  return word;
}

// At the entry that was traced as number `index`, by the report.
uint64_t WordAt(const TracedRun& run, size_t index, uint64_t address) {
  const Report& report = run.reports.at(0);
  for (const EntryState& one : report.snapshots->states) {
    if (one.registers.sp != run.entries.at(index).sp.value) continue;
    const EntryState* state = FindRecorded(report, {one.registers.entry}, {one.registers.sp});
    const Pages pages = PagesOf(report, *state);
    return WordIn(pages.contains(address & ~uint64_t{4095}) ? JoinPages(pages) : report.memory, address);
  }
  ADD_FAILURE() << "no snapshot of entry " << index;
  return 0;
}

void ExpectCrashOfItsOwn(const TracedRun& run) {
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  EXPECT_EQ(WTERMSIG(run.status), SIGSEGV);
  EXPECT_EQ(run.reports[0].failure.address.value, 0u);
}

// Five nodes, each 100 more after the first entry and 100 after the second.
TEST(EntryCopies, ReachToTheirDepth) {
  for (const uint64_t depth : {1, 2, 3, 5}) {
    const TracedRun run = RunRefused("chain", "snapshot_depth=" + std::to_string(depth));
    ExpectCrashOfItsOwn(run);
    for (uint64_t node = 1; node <= 5; ++node) {
      const uint64_t address = Printed(run, "node" + std::to_string(node)) + 8;
      EXPECT_EQ(WordIn(run.entries.at(0).memory, address), 99 + node) << "traced";
      EXPECT_EQ(WordAt(run, 0, address), (node <= depth ? 99 : 299) + node) << "node " << node << ", depth " << depth;
      // What a register still holds may lead further than the arguments.
      if (node <= depth) EXPECT_EQ(WordAt(run, 1, address), 199 + node) << "node " << node << ", depth " << depth;
    }
    for (const EntryState& state : run.reports[0].snapshots->states) {
      EXPECT_EQ(state.copied_depth, depth);
      EXPECT_FALSE(state.copies_cut);
    }
  }
}

TEST(EntryCopies, AreThreeDeepByDefault) {
  const TracedRun run = RunRefused("chain");
  ExpectCrashOfItsOwn(run);
  EXPECT_EQ(run.reports[0].snapshots->states.at(0).copied_depth, 3);
  EXPECT_THAT(
      run.reports[0].losses,
      Contains("entry states are copies of what arguments reached, to depth 3: the kernel, or a filter of system "
               "calls, refuses userfaultfd (Operation not permitted)"));
}

TEST(EntryCopies, AreMadeOnOlderKernels) {
  const TracedRun run = RunRefused("chain", "", true, "tracking");
  ExpectCrashOfItsOwn(run);
  EXPECT_EQ(WordAt(run, 0, Printed(run, "node1") + 8), 100u);
  EXPECT_THAT(run.reports[0].losses,
              Contains("entry states are copies of what arguments reached, to depth 3: the kernel cannot track writes "
                       "asynchronously, which needs Linux 6.7 (Invalid argument)"));
}

TEST(EntryCopies, AreNotMadeAtDepthNought) {
  const TracedRun run = RunRefused("chain", "snapshot_depth=0");
  ExpectCrashOfItsOwn(run);
  EXPECT_THAT(run.reports[0].snapshots->states, IsEmpty());
  EXPECT_THAT(run.reports[0].losses, Contains("no entry states: the kernel, or a filter of system calls, refuses "
                                              "userfaultfd (Operation not permitted)"));
}

TEST(EntryCopies, AreNotMadeWhereMemoryCannotBeRead) {
  const TracedRun run = RunRefused("chain", "", true, "copies");
  ExpectCrashOfItsOwn(run);
  EXPECT_THAT(run.reports[0].snapshots->states, IsEmpty());
  EXPECT_THAT(run.reports[0].losses, Contains(HasSubstr("process_vm_readv, and pipes")));
}

// As an old Docker has it: copies go through a pipe.
TEST(EntryCopies, AreTheSameThroughAPipe) {
  const TracedRun by_call = RunRefused("chain"), by_pipe = RunRefused("chain", "", true, "both");
  ExpectCrashOfItsOwn(by_pipe);
  ASSERT_FALSE(by_pipe.reports[0].snapshots->states.empty());
  EXPECT_EQ(by_pipe.reports[0].snapshots->states.size(), by_call.reports.at(0).snapshots->states.size());
  EXPECT_EQ(WordAt(by_pipe, 0, Printed(by_pipe, "node2") + 8), WordAt(by_call, 0, Printed(by_call, "node2") + 8));
}

TEST(EntryCopies, AreNotMadeWhereWritesAreTracked) {
  const TracedRun run = RunEntries("chain");
  ExpectCrashOfItsOwn(run);
  EXPECT_EQ(run.reports[0].snapshots->states.at(0).copied_depth, 0);
  EXPECT_EQ(WordAt(run, 0, Printed(run, "node5") + 8), 104u);
}

TEST(EntryCopies, EndInACycle) {
  const TracedRun run = RunRefused("cycle", "snapshot_depth=100");
  ExpectCrashOfItsOwn(run);
  EXPECT_EQ(WordAt(run, 0, Printed(run, "node5") + 8), 104u);
  EXPECT_LE(run.reports[0].snapshots->figures.log_bytes, 64u << 10) << "each node once";
}

// The seventh argument points into the first node.
TEST(EntryCopies, AreOfWholeBlocks) {
  const TracedRun run = RunRefused("inside");
  ExpectCrashOfItsOwn(run);
  const uint64_t node = Printed(run, "node1");
  EXPECT_EQ(WordAt(run, 0, node + 8), 100u);
  EXPECT_EQ(WordAt(run, 0, node + kInMore), 0u);
  EXPECT_EQ(WordAt(run, 0, Printed(run, "node2") + 8), 101u);
}

TEST(EntryCopies, OfLongBlocksAreTheirBeginning) {
  const TracedRun run = RunRefused("block");
  ExpectCrashOfItsOwn(run);
  for (const char* name : {"small0", "large0"}) {
    const uint64_t block = Printed(run, name);
    EXPECT_EQ(WordAt(run, 0, block), 0x6161616161616161u) << name;
    EXPECT_EQ(WordAt(run, 0, block + (64 << 10) - 8), 0x6161616161616161u) << name;
    EXPECT_EQ(WordAt(run, 0, block + (64 << 10) + 8), 0x6262626262626262u) << name;
  }
  EXPECT_THAT(run.reports[0].snapshots->states, Contains(testing::Field(&EntryState::copies_cut, true)));
  const TracedRun without = RunRefused("block", "", true, "userfaultfd", "chunks");
  EXPECT_EQ(WordAt(without, 0, Printed(without, "small0")), 0x6161616161616161u);
  EXPECT_EQ(WordAt(without, 0, Printed(without, "small0") + 1024), 0x6262626262626262u) << "a bound, and no size";
}

TEST(EntryCopies, AreNotHarmedByWildPointers) {
  const TracedRun run = RunRefused("wild");
  ExpectCrashOfItsOwn(run);
  EXPECT_EQ(WordAt(run, 0, Printed(run, "node1") + 8), 100u);
}

TEST(EntryCopies, OfADeepRecursionKeepToTheirMemory) {
  const TracedRun run = RunRefused("deep", "snapshot_memory=1", false);
  ExpectCrashOfItsOwn(run);
  const SnapshotFigures& figures = run.reports[0].snapshots->figures;
  EXPECT_LE(figures.log_bytes, 1u << 20);
  EXPECT_GT(figures.taken, 10u);
  EXPECT_GT(figures.skipped_memory, 1000u);
}

TEST(EntryCopies, GiveTheirRoomBack) {
  const TracedRun run = RunRefused("returned", "snapshot_memory=1");
  ExpectCrashOfItsOwn(run);
  EXPECT_GT(run.reports[0].snapshots->figures.taken, 3000u);
  EXPECT_EQ(run.reports[0].snapshots->figures.skipped_memory, 0u);
  EXPECT_EQ(WordAt(run, 0, Printed(run, "node1") + 8), 3100u);
  const TracedRun without = RunRefused("returned", "snapshot_memory=1", false, "userfaultfd", "give_back");
  EXPECT_GT(without.reports.at(0).snapshots->figures.skipped_memory, 1000u);
}

TEST(EntryCopies, KeepToTheBudget) {
  const TracedRun run = RunEntries("often", {{"REFUSE", "userfaultfd"}, {"RECRASH_OPTIONS", "snapshot_cpu=2"}}, false);
  ExpectCrashOfItsOwn(run);
  const SnapshotFigures& figures = run.reports[0].snapshots->figures;
  EXPECT_GT(figures.taken, 3u);
  EXPECT_LT(figures.cpu_ns, (figures.process_cpu_ns + 1000000000) / 50 + figures.longest_pause_ns);
}

// A pause of nothing: the report says that it is not all.
TEST(EntryCopies, AreCutByThePause) {
  const TracedRun run = RunRefused("cycle", "snapshot_pause=0,snapshot_depth=20");
  ExpectCrashOfItsOwn(run);
  EXPECT_THAT(run.reports[0].snapshots->states, Contains(testing::Field(&EntryState::copies_cut, true)));
}

// One block that leads to 8,000 others: looking for these takes longer than copying them.
TEST(EntryCopies, KeepToThePauseInALongBlock) {
  const auto longest = [](const TracedRun& run) { return run.reports.at(0).snapshots->figures.longest_pause_ns; };
  const TracedRun run = RunRefused("many", "snapshot_pause=1", false);
  ExpectCrashOfItsOwn(run);
  EXPECT_THAT(run.reports[0].snapshots->states, Contains(testing::Field(&EntryState::copies_cut, true)));
  const TracedRun without = RunRefused("many", "snapshot_pause=1", false, "userfaultfd", "late");
  EXPECT_GT(longest(without), longest(run) + 1000000);
}

// The rules of the recorder are theirs as well.
TEST(EntryCopies, SurviveForkSignalsAndThreads) {
  for (const char* what : {"simple", "fork", "signals", "jumps", "thread", "racing", "close", "read", "maps"}) {
    const TracedRun run = RunRefused(what, "", false);
    ASSERT_EQ(run.reports.size(), 1u) << what << ": " << run.output;
    EXPECT_THAT(run.output, HasSubstr("SIGSEGV at address 0x0")) << what;
    EXPECT_THAT(run.reports[0].snapshots->states, testing::Not(IsEmpty())) << what;
    for (const OpenFile& file : run.reports[0].files) EXPECT_THAT(file.path, testing::Not(HasSubstr("/maps"))) << what;
  }
}

}  // namespace
}  // namespace recrash
