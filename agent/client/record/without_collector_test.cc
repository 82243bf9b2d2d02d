// Entry states of a raw report are those that a collector makes of the same log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/base/testing_files.h"
#include "agent/client/record/testing_trace.h"
#include "agent/report/page_source.h"
#include "agent/report/pages.h"
#include "agent/report/testing_reports.h"
#include "shadowstack/abi.h"

namespace recrash {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kNoCollector[] = "/nonexistent";

// The client is not told of the report, and writes its own as well.
std::string ForgetfulCollector(const TemporaryDirectory& folder) {
  const std::string path = folder / "collector";
  std::ofstream(path) << "#!/bin/sh\n"
                      << RECRASH_TEST_COLLECTOR << " \"$@\"\n"
                      << "printf '\\0' | /bin/dd of=/proc/$1/mem bs=1 conv=notrunc 2>/dev/null seek=$((0x${3#0x} + "
                      << offsetof(abi::CrashRecord, report_path) << "))\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

// All but the memory, the times of the two reports, and what no file has.
std::string StatesOf(const Report& report) {
  Report states;
  states.snapshots = report.snapshots;
  states.snapshots->figures.process_cpu_ns = 0;
  states.snapshots->functions.clear();
  for (EntryState& state : states.snapshots->states) state.memory = EntryMemory();
  return Dump(states);
}

// A page that had not been touched is not there.
std::vector<uint8_t> PageOf(const Contents& contents, uint64_t page) {
  const auto found = contents.find(page);
  return found == contents.end() ? std::vector<uint8_t>(kPageSize) : found->second;
}

// In pages that one of them has of that entry.
std::vector<uint64_t> Differences(const Report& one, const Report& other, size_t number, size_t* compared) {
  const EntryState &first = one.snapshots->states[number], &second = other.snapshots->states[number];
  const Contents ours = MemoryAt(one, first), theirs = MemoryAt(other, second);
  Pages pages = PagesOf(one, first);
  pages.merge(PagesOf(other, second));
  std::vector<uint64_t> differences;
  for (const auto& [page, bytes] : pages) {
    if (PageOf(ours, page) != PageOf(theirs, page)) differences.push_back(page);
  }
  *compared += pages.size();
  return differences;
}

class WithoutCollector : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, WithoutCollector, testing::Values("simple", "grow", "maps", "read", "thread"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(WithoutCollector, EntriesAreAsATracerFindsThem) {
  const TracedRun run = RunEntries(GetParam(), {{"RECRASH_COLLECTOR", kNoCollector}});
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  EXPECT_THAT(run.output, HasSubstr("raw report"));
  ASSERT_TRUE(run.reports[0].snapshots);
  ASSERT_GE(run.entries.size(), 3u);
  for (const TracedEntry& entry : run.entries) EXPECT_THAT(Compare(run.reports[0], entry), IsEmpty());
}

TEST_P(WithoutCollector, EntriesAreSoWhereMemoryMayNotBeRead) {
  const TracedRun run = RunEntries(GetParam(), {{"RECRASH_COLLECTOR", kNoCollector}, {"REFUSE", "reads"}});
  ASSERT_EQ(run.reports.size(), 1u) << run.output;
  ASSERT_TRUE(run.reports[0].snapshots);
  ASSERT_GE(run.entries.size(), 3u);
  for (const TracedEntry& entry : run.entries) EXPECT_THAT(Compare(run.reports[0], entry), IsEmpty());
}

void ExpectBothAlike(const TracedRun& run) {
  ASSERT_EQ(run.reports.size(), 2u) << run.output;
  const Report &collected = run.reports[0], &raw = run.reports[1];
  ASSERT_TRUE(collected.snapshots && raw.snapshots);
  ASSERT_GE(collected.snapshots->states.size(), 3u);
  EXPECT_EQ(StatesOf(raw), StatesOf(collected));
  size_t compared = 0;
  for (size_t i = 0; i < raw.snapshots->states.size(); ++i)
    EXPECT_THAT(Differences(raw, collected, i, &compared), IsEmpty());
  EXPECT_GT(compared, 0u);
  EXPECT_GT(raw.snapshots->figures.process_cpu_ns, 0u);
  EXPECT_EQ(raw.mappings.size(), collected.mappings.size()) << "the log is not the program's";
  EXPECT_EQ(raw.files.size(), collected.files.size()) << "nor are the recorder's descriptors";
}

TEST_P(WithoutCollector, EntriesAreThoseOfACollector) {
  const TemporaryDirectory folder;
  ExpectBothAlike(RunEntries(GetParam(), {{"RECRASH_COLLECTOR", ForgetfulCollector(folder)}}, false));
}

TEST_P(WithoutCollector, CopiesAreThoseOfACollector) {
  const TemporaryDirectory folder;
  for (const char* refused : {"tracking", "both"}) {
    const TracedRun run =
        RunEntries(GetParam(), {{"RECRASH_COLLECTOR", ForgetfulCollector(folder)}, {"REFUSE", refused}}, false);
    ExpectBothAlike(run);
    EXPECT_THAT(run.reports.back().losses, Contains(HasSubstr("entry states are copies")));
  }
}

}  // namespace
}  // namespace recrash
