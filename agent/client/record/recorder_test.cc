// The memory that a report holds of a frame's entry is what a tracer finds there, byte for byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "agent/client/record/testing_trace.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

using Variables = std::map<std::string, std::string>;

// How many entries are as they were traced.
size_t Exact(const TracedRun& run) {
  if (run.reports.size() != 1 || !run.reports[0].snapshots) return 0;
  size_t exact = 0;
  for (const TracedEntry& entry : run.entries) exact += Compare(run.reports[0], entry).empty() ? 1 : 0;
  return exact;
}

void ExpectExact(const TracedRun& run, size_t entries) {
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  ASSERT_EQ(run.entries.size(), entries) << run.output;
  for (const TracedEntry& entry : run.entries) {
    EXPECT_THAT(Compare(run.reports[0], entry), IsEmpty()) << "at sp " << std::hex << entry.sp.value;
  }
  EXPECT_EQ(WTERMSIG(run.status), SIGSEGV);
}

void ExpectNeeded(const std::string& what, size_t entries, const std::string& mechanism) {
  ExpectExact(RunEntries(what), entries);
  EXPECT_LT(Exact(RunEntries(what, {{"RECRASH_WITHOUT", mechanism}})), entries) << "without " << mechanism;
}

TEST(Recorder, KeepsDataStackAndHeap) { ExpectNeeded("simple", 3, "populate"); }

TEST(Recorder, FollowsAGrowingHeap) { ExpectNeeded("grow", 3, "new_mappings"); }

TEST(Recorder, FollowsMappings) { ExpectNeeded("maps", 5, "absent"); }

TEST(Recorder, LeavesReadsIntoTrackedPagesAlone) {
  const TracedRun run = RunEntries("read");
  ExpectExact(run, 3);
  const Report& report = run.reports.at(0);
  for (const TracedEntry& entry : run.entries) {
    const EntryState* snapshot = StateAt(report, entry.sp);
    ASSERT_NE(snapshot, nullptr);
    ASSERT_EQ(snapshot->files.size() + 3, entry.files.size()) << "and the recorder's own";
    for (size_t i = 0; i < snapshot->files.size(); ++i) {
      EXPECT_EQ(snapshot->files[i].descriptor, entry.files[i].descriptor);
      EXPECT_EQ(snapshot->files[i].offset, entry.files[i].offset);
      EXPECT_EQ(snapshot->files[i].path, entry.files[i].path);
      EXPECT_EQ(snapshot->files[i].flags & 3, entry.files[i].flags & 3);
    }
  }
  for (const OpenFile& file : report.files) EXPECT_THAT(file.path, Not(HasSubstr("userfaultfd")));
}

// The child has neither the log nor its protection, and the descriptors are the parent's: it must not use them.
TEST(Recorder, StopsInAChildOfFork) {
  ExpectExact(RunEntries("fork"), 3);
  const TracedRun without = RunEntries("fork", {{"RECRASH_WITHOUT", "wipe_on_fork"}});
  EXPECT_THAT(without.reports, testing::SizeIs(testing::Not(1))) << "the child dies of it";
}

// All pages were taken for unmapped there, and entry states had zeros.
TEST(Recorder, CopiesThroughAPipeWhereItMayNotReadMemory) {
  for (const char* what : {"simple", "maps"})
    ExpectExact(RunEntries(what, {{"REFUSE", "reads"}}), what == std::string("simple") ? 3 : 5);
}

TEST(Recorder, LetsSignalsIn) {
  const TracedRun run = RunEntries("signals");
  ExpectExact(run, 3);
  EXPECT_GT(run.reports.at(0).snapshots->figures.taken, 100u);
}

// Left by a jump in the middle of a snapshot the recorder would be busy for ever.
TEST(Recorder, IsNotLeftByAHandlerThatJumps) { ExpectNeeded("jumps", 2, "hold_signals"); }

TEST(Recorder, SaysThatOtherThreadsRan) {
  const TracedRun run = RunEntries("thread");
  ExpectExact(run, 3);
  for (const EntryState& state : run.reports.at(0).snapshots->states) {
    const bool before = state.registers.sp > run.entries.at(0).sp.value;
    EXPECT_EQ(state.others_ran, !before) << "Threads itself is entered before its thread is there";
  }
}

// What another thread wrote meanwhile may be of a later moment; what this one wrote is not.
TEST(Recorder, KeepsTheOwnWritesOfAThreadAmongOthers) {
  // The other thread writes into the program's data alone, this one to its stack and the heap.
  const auto own_differences = [](const Report& report, const TracedEntry& entry) {
    std::vector<std::string> own;
    for (const std::string& difference : Compare(report, entry))
      for (const char* place : {"[heap]", "[stack]", "no snapshot"})
        if (difference.find(place) != std::string::npos) own.push_back(difference);
    return own;
  };
  const TracedRun run = RunEntries("writer");
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  ASSERT_EQ(run.entries.size(), 3u) << run.output;
  for (const TracedEntry& entry : run.entries) EXPECT_THAT(own_differences(run.reports[0], entry), IsEmpty());
  TracedEntry later = run.entries[1];
  later.sp = run.entries[0].sp;
  EXPECT_THAT(own_differences(run.reports[0], later), Not(IsEmpty())) << "or nothing was compared";
}

// A frame that has returned is not taken for the one that has come to lie in its place.
TEST(Recorder, TellsAFrameFromTheNextInItsPlace) {
  const auto kept = [](Variables variables) -> std::string {
    variables["RECRASH_OPTIONS"] = "snapshot_cpu=1";
    const TracedRun run = RunEntries("again", variables);
    if (run.reports.size() != 1 || run.entries.size() != 2) return "not traced: " + run.output;
    if (run.reports[0].snapshots->figures.skipped_rate == 0) return "each had a snapshot";
    return StateAt(run.reports[0], run.entries[0].sp) ? "the first one's" : "none";
  };
  EXPECT_EQ(kept({}), "none");
  EXPECT_EQ(kept({{"RECRASH_WITHOUT", "ended_frames"}}), "the first one's");
}

TEST(Recorder, SurvivesMappingsThatGoAwayUnderIt) {
  const TracedRun run = RunEntries("racing", {}, false);
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  EXPECT_THAT(run.output, HasSubstr("SIGSEGV at address 0x0"));
  EXPECT_GT(run.reports[0].snapshots->figures.taken, 100u);
}

// A function that is entered some hundred thousand times a second, over 4 MiB that are written all the time.
TEST(Recorder, KeepsToItsBudget) {
  const TracedRun run = RunEntries("often", {{"RECRASH_OPTIONS", "snapshot_cpu=2"}}, false);
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  const SnapshotFigures& figures = run.reports[0].snapshots->figures;
  EXPECT_GT(figures.taken, 2u);
  EXPECT_GT(figures.skipped_rate, 100000u);
  // The first second's part is there from the beginning, and the last snapshot may overdraw.
  EXPECT_LT(figures.cpu_ns, (figures.process_cpu_ns + 1000000000) / 50 + figures.longest_pause_ns);
  const TracedRun all = RunEntries("often", {}, false);
  EXPECT_GT(all.reports.at(0).snapshots->figures.cpu_ns, all.reports[0].snapshots->figures.process_cpu_ns / 4)
      << "without a budget it takes most of the time";
}

TEST(Recorder, KeepsToItsMemory) {
  const TracedRun run = RunEntries("large", {{"RECRASH_OPTIONS", "snapshot_cpu=100,snapshot_memory=1"}}, false);
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  const SnapshotFigures& figures = run.reports[0].snapshots->figures;
  EXPECT_GT(figures.skipped_memory, 10u);
  EXPECT_LE(figures.log_bytes, 1u << 20);
  const TracedRun enough = RunEntries("large", {{"RECRASH_OPTIONS", "snapshot_cpu=100,snapshot_pause=1000"}}, false);
  EXPECT_EQ(enough.reports.at(0).snapshots->figures.skipped_memory, 0u);
}

// The first copy of 4 MiB does not fit into the pause: it is spread over several entries, and what is taken then is
// complete.
TEST(Recorder, SpreadsAFirstCopyOverEntries) {
  const Variables variables = {{"RECRASH_OPTIONS", "snapshot_cpu=100,snapshot_pause=0"}};
  const TracedRun run = RunEntries("spread", variables);
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  EXPECT_GT(run.reports[0].snapshots->figures.skipped_pause, 20u);
  ExpectExact(run, 2);
}

TEST(Recorder, GoesOnWhenItsDescriptorsAreClosed) {
  const TracedRun run = RunEntries("close");
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  EXPECT_THAT(run.reports[0].losses, testing::Contains(HasSubstr("closed the recorder's descriptors")));
  EXPECT_THAT(Compare(run.reports[0], run.entries.at(0)), IsEmpty()) << "what was recorded before that";
}

TEST(Recorder, IsOffWhereItMayTakeNothing) {
  for (const char* options : {"snapshot_cpu=0", "snapshot_memory=0"}) {
    const TracedRun run = RunEntries("simple", {{"RECRASH_OPTIONS", options}});
    ASSERT_EQ(run.reports.size(), 1u) << run.output;
    EXPECT_FALSE(run.reports[0].snapshots) << options;
  }
}

}  // namespace
}  // namespace recrash
