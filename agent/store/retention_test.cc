#include "agent/store/retention.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "agent/report/testing_reports.h"
#include "agent/report/writer.h"
#include "agent/store/store_index.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kA(32, 'a'), kB(32, 'b');
constexpr int64_t kNow = int64_t{1'800'000'000} * 1'000'000'000;
constexpr int64_t kDay = int64_t{86400} * 1'000'000'000;

struct Invented {
  std::string name, group;
  uint64_t bytes = 1;
  int64_t days = 0;  // its age
};

// The names of those that go, of reports that are given the newest first.
std::vector<std::string> Removed(const std::vector<Invented>& all, const RetentionLimits& limits,
                                 const std::string& spared = "") {
  std::vector<StoredReport> reports;
  std::vector<std::string> groups;
  for (const Invented& each : all) {
    reports.push_back({each.name, each.name, {each.name}, each.bytes, each.bytes, kNow - each.days * kDay});
    groups.push_back(each.group);
  }
  std::vector<std::string> names;
  for (const RemovedReport& each : ChooseRemoved(reports, groups, limits, spared, kNow))
    names.push_back(each.report.name);
  return names;
}

TEST(Removed, AreAllButTheNewestOfASignature) {
  EXPECT_THAT(Removed({{"1", kA}, {"2", kB}, {"3", kA}, {"4", kA}, {"5", kB}}, {.keep = 2}), ElementsAre("4"));
  EXPECT_THAT(Removed({{"1", kA}, {"2", kA}, {"3", kA}}, {.keep = 0}), IsEmpty());
}

// They may be different crashes.
TEST(Removed, AreNoneWhoseSignatureIsNotKnown) {
  EXPECT_THAT(Removed({{"1", ""}, {"2", ""}, {"3", ""}}, {.keep = 1}), IsEmpty());
}

TEST(Removed, AreThoseThatAreTooOld) {
  EXPECT_THAT(Removed({{"1", kA, 1, 0}, {"2", kB, 1, 364}, {"3", "", 1, 365}}, {.days = 365}), ElementsAre("3"));
  EXPECT_THAT(Removed({{"1", kA, 1, 9999}}, {.days = 0}), IsEmpty());
  EXPECT_THAT(Removed({{"1", kA, 1, -9999}}, {.days = 1}), IsEmpty()) << "of a clock that was wrong";
}

TEST(Removed, AreTheOldestWhereThereIsNoRoom) {
  EXPECT_THAT(Removed({{"1", kA, 40}, {"2", kB, 50}, {"3", "", 20}, {"4", "", 10}}, {.bytes = 100}), ElementsAre("3"));
  EXPECT_THAT(Removed({{"1", kA, 40}, {"2", kB, 70}}, {.bytes = 0}), IsEmpty());
}

// However large it is, and wherever its time puts it.
TEST(Removed, IsNeverTheOneJustWritten) {
  const std::vector<Invented> all = {{"1", kA, 60, 0}, {"2", kA, 60, 1}, {"new", kA, 500, 9}};
  EXPECT_THAT(Removed(all, {.keep = 1, .bytes = 100, .days = 5}, "new"), ElementsAre("1", "2"));
  EXPECT_THAT(Removed(all, {.keep = 2}, "new"), ElementsAre("2"));
}

class Retention : public testing::Test {
 protected:
  // `age`: hours since it was written.
  std::string Write(int number, const std::string& signature, int age) {
    const std::string stem = "app-20261119-091024-" + std::to_string(number);
    Report report = SmallReport();
    report.signature = signature;
    EXPECT_TRUE(WriteReport(report, folder_ / (stem + ".rcr")));
    WriteBytes(folder_ / (stem + ".dmp"), {'M', 'D', 'M', 'P'});
    for (const char* suffix : {".rcr", ".dmp"})
      fs::last_write_time(folder_ / (stem + suffix), fs::file_time_type::clock::now() - hours(age));
    return stem;
  }
  Retained Run(const RetentionRequest& request) const {
    Result<Retained> retained = Retain(folder_.path(), request);
    EXPECT_TRUE(retained) << retained.error().message;
    return retained ? *std::move(retained) : Retained();
  }
  // Numbers of the reports that are there.
  std::vector<std::string> Left() const {
    std::vector<std::string> left;
    for (const std::string& name : folder_.names())
      if (name.ends_with(".rcr")) left.push_back(name.substr(20, name.size() - 24));
    return left;
  }
  StoreIndex Index() const { return ReadIndex(Fd(open(folder_.path().c_str(), O_RDONLY)).get()); }

  TemporaryDirectory folder_;
};

TEST_F(Retention, KeepsTheNewestThreeOfASignature) {
  for (int i = 1; i <= 5; ++i) Write(i, kA, i);
  Write(6, kB, 100);
  Write(7, "", 200);
  EXPECT_EQ(Run({{.keep = 3}}).removed.size(), 2u);
  EXPECT_THAT(Left(), ElementsAre("1", "2", "3", "6", "7"));
  EXPECT_EQ(folder_.names().size(), 11u) << "minidumps go with their reports, and the index is there";
}

TEST_F(Retention, RemembersWhatIsGone) {
  for (int i = 1; i <= 5; ++i) Write(i, kA, i);
  Run({{.keep = 3}});
  const StoreIndex index = Index();
  EXPECT_EQ(index.reports.size(), 3u);
  ASSERT_EQ(index.gone.size(), 1u);
  EXPECT_EQ(index.gone.at(kA).count, 2u);
  EXPECT_EQ(index.gone.at(kA).last - index.gone.at(kA).first, 3600);
}

// Two builds that crash at the same place in the source.
TEST_F(Retention, CountsBuildsOfOneChainTogether) {
  for (int i = 1; i <= 4; ++i) Write(i, i % 2 ? kA : kB, i);
  const Fd folder(open(folder_.path().c_str(), O_RDONLY));
  {
    Result<LockedIndex> index = LockedIndex::Open(folder.get(), std::chrono::milliseconds(0));
    for (const std::string& signature : {kA, kB}) index->value().chains[signature] = {std::string(32, 'c'), "x"};
    index->Save();
  }
  Run({{.keep = 3}});
  EXPECT_THAT(Left(), ElementsAre("1", "2", "3"));
}

// The index says nothing of a report that has another one's name since.
TEST_F(Retention, LooksAgainAtAReportThatHasChanged) {
  for (int i = 1; i <= 3; ++i) Write(i, kA, i);
  Run({{.keep = 3}});
  Write(2, kB, 2);
  fs::last_write_time(folder_ / "app-20261119-091024-2.rcr", fs::file_time_type::clock::now() - hours(1));
  Run({{.keep = 3}});
  EXPECT_EQ(Index().reports.at("app-20261119-091024-2.rcr").signature, kB);
}

TEST_F(Retention, OfADryRunChangesNothing) {
  for (int i = 1; i <= 5; ++i) Write(i, kA, i);
  WriteBytes(folder_ / "app-20261119-091024-9.rcr.part", {1});
  const std::vector<std::string> before = folder_.names();
  EXPECT_EQ(Run({{.keep = 3}, "", /*dry_run=*/true}).removed.size(), 2u);
  EXPECT_EQ(folder_.names(), before);
}

TEST_F(Retention, RemovesPartsOfDeadWriters) {
  WriteBytes(folder_ / "app-20261119-091024-9.rcr.part", {1});
  EXPECT_EQ(Run({}).dead_parts, 1u);
  EXPECT_THAT(folder_.names(), ElementsAre(kIndexName));
}

// A damaged report has no signature. It goes by its age and size.
TEST_F(Retention, TakesDamagedReportsAsTheyAre) {
  for (int i = 1; i <= 4; ++i) WriteBytes(folder_ / ("app-20261119-091024-" + std::to_string(i) + ".rcr"), {0, 0});
  EXPECT_THAT(Run({{.keep = 1}}).removed, IsEmpty());
  EXPECT_EQ(Run({{.bytes = 5}}).removed.size(), 2u);
}

TEST_F(Retention, LeavesOtherFilesThatHaveAReportsName) {
  for (int i = 1; i <= 4; ++i) WriteBytes(folder_ / ("app-20261119-091024-" + std::to_string(i) + ".rcr"), {'h', 'i'});
  const Retained retained = Run({{.bytes = 1}});
  EXPECT_THAT(retained.removed, IsEmpty());
  EXPECT_EQ(retained.left, 4u);
  EXPECT_EQ(Left().size(), 4u);
}

// Many programs crash at once: each removal is counted once.
TEST_F(Retention, OfManyAtOnceIsThatOfOne) {
  for (int i = 1; i <= 40; ++i) Write(i, kA, i);
  for (int i = 0; i < 8; ++i) {
    if (fork() != 0) continue;
    const Result<Retained> retained = Retain(folder_.path(), {{.keep = 3}, "", false, std::chrono::seconds(60)});
    _exit(retained ? static_cast<int>(retained->removed.size() % 37) : 99);
  }
  for (int status; wait(&status) > 0;) EXPECT_EQ(status, 0);
  EXPECT_THAT(Left(), ElementsAre("1", "2", "3"));
  EXPECT_EQ(Index().gone[kA].count, 37u);
}

TEST_F(Retention, LeavesItToAnotherProcess) {
  const Fd folder(open(folder_.path().c_str(), O_RDONLY));
  const Result<LockedIndex> other = LockedIndex::Open(folder.get(), std::chrono::milliseconds(0));
  const Result<Retained> retained = Retain(folder_.path(), {{}, "", false, std::chrono::milliseconds(1)});
  ASSERT_FALSE(retained);
  EXPECT_EQ(retained.error().code, Errc::kTaken);
}

TEST_F(Retention, SaysThatThereIsNoFolder) { EXPECT_EQ(Retain(folder_ / "none", {}).error().code, Errc::kMissing); }

}  // namespace
}  // namespace recrash
