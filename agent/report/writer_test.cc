// What a failed write leaves: the old report, and nothing else.
#include "agent/report/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <functional>
#include <random>

#include "agent/report/format.h"
#include "agent/report/reader.h"
#include "agent/report/testing_reports.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Four megabytes that zstd cannot pack.
Report LargeReport() {
  Report report = SmallReport();
  std::mt19937_64 random(1);
  report.memory = {{{0x10000}, std::vector<uint8_t>(4u << 20)}};
  for (uint8_t& byte : report.memory[0].bytes) byte = static_cast<uint8_t>(random());
  return report;
}

class FailedWrite : public testing::Test {
 protected:
  void ExpectRefused(const Status& status, const std::string& why) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::kRefused);
    EXPECT_THAT(status.error().message, StartsWith(path_ + ": report not written: "));
    EXPECT_THAT(status.error().message, HasSubstr(why));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.rcr";
};

TEST_F(FailedWrite, KeepsTheOldReport) {
  ASSERT_TRUE(WriteReport(SmallReport(), path_));
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1 << 20, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const Status status = WriteReport(LargeReport(), path_);
  setrlimit(RLIMIT_FSIZE, &before);
  ExpectRefused(status, "File too large");
  EXPECT_THAT(directory_.names(), ElementsAre("a.rcr"));
  Result<TestReport> old = ReadTestReport(path_);
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_EQ(Dump(*old), Dump(SmallReport()));
}

// A file system of 64 KiB, in a child with a mount name space of its own.
enum Outcome { kAsExpected = 0, kNoMount = 1, kNotRefused = 2, kSomethingLeft = 3, kOldLost = 4 };

int OnAFullDisk(const TemporaryDirectory& directory) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kNoMount;
  mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (mount("none", directory.path().c_str(), "tmpfs", 0, "size=64k") != 0) return kNoMount;
  if (!WriteReport(SmallReport(), directory / "a.rcr")) return kNotRefused;
  const Status status = WriteReport(LargeReport(), directory / "a.rcr");
  if (status || status.error().message.find("No space left on device\n  free some space") == std::string::npos)
    return kNotRefused;
  if (directory.names() != std::vector<std::string>{"a.rcr"}) return kSomethingLeft;
  return ReadReport(directory / "a.rcr") ? kAsExpected : kOldLost;
}

TEST_F(FailedWrite, KeepsTheOldReportOnAFullDisk) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(OnAFullDisk(directory_));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoMount) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(WEXITSTATUS(status), kAsExpected);
}

TEST_F(FailedWrite, NamesTheDirectoryThatIsMissing) {
  path_ = directory_ / "none/a.rcr";
  ExpectRefused(WriteReport(SmallReport(), path_), "No such file or directory\n  choose a directory");
}

TEST_F(FailedWrite, LeavesNothingWhenTheNameIsTaken) {
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  ExpectRefused(WriteReport(SmallReport(), path_), "Is a directory");
  EXPECT_THAT(directory_.names(), ElementsAre("a.rcr"));
}

// What a reader would refuse is refused by the writer, before a file is made.
TEST_F(FailedWrite, IsBetterThanAReportThatCannotBeRead) {
  TestReport report;
  report.process.program.assign(format::kMaxString + 1, 'x');
  ExpectRefused(WriteReport(report, path_), "a string of 1048577, at most 1048576 can be kept");

  report = {};
  report.memory = {{{0x1000}, {1, 2, 3}}, {{0x1002}, {4}}};
  ExpectRefused(WriteReport(report, path_), "not in order or overlap");
  report.memory = {{{0x2000}, {1}}, {{0x1000}, {2}}};
  ExpectRefused(WriteReport(report, path_), "not in order or overlap");
  report.memory = {{{UINT64_MAX - 1}, {1, 2}}};
  ExpectRefused(WriteReport(report, path_), "not in order or overlap");
  report.memory = {};
  std::vector<ModuleImage>& images = report.replay.images;
  images = {{{0x1000}, {{{0x2000}, {1}}, {{0x1000}, {2}}}, {}}};
  ExpectRefused(WriteReport(report, path_), "not in order or overlap");
  // A run would come back as another module's.
  images = {{{0x1000}, {{{0x3000}, {1}}}, {}}, {{0x2000}, {}, {}}};
  ExpectRefused(WriteReport(report, path_), "images of modules are not in order");
  images = {{{0x1000}, {{{0x800}, {1}}}, {}}};
  ExpectRefused(WriteReport(report, path_), "images of modules are not in order");
  images = {};
  // A reader cuts the contents of inputs by their sizes.
  report.inputs = {{{}, "/in", 2, "", InputContent::kHeld, {1}}};
  ExpectRefused(WriteReport(report, path_), "an input's content is not of the size");
  report.inputs = {{{}, "/in", 1, "", InputContent::kTooLarge, {1}}};
  ExpectRefused(WriteReport(report, path_), "an input's content is not of the size");
  EXPECT_THAT(directory_.names(), IsEmpty());
}

}  // namespace
}  // namespace recrash
