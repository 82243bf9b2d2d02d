#include "agent/store/report_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "agent/base/file_io.h"
#include "agent/base/testing_files.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class Folder : public testing::Test {
 protected:
  ReportFolder Open() const { return *ReportFolder::Open(folder_.path()); }
  void Write(const std::string& name, size_t size = 1) const { WriteBytes(folder_ / name, std::vector<uint8_t>(size)); }
  std::vector<std::string> Stems() const {
    std::vector<std::string> stems;
    for (const StoredReport& report : Open().Reports()) stems.push_back(report.stem);
    return stems;
  }

  TemporaryDirectory folder_;
};

TEST_F(Folder, HasReportsWithTheirMinidumps) {
  Write("a-20261119-091024-1.dmp", 10);
  Write("a-20261119-091024-1.rcr", 5);
  Write("b-20261119-091024-1-c0ffee.rcraw", 7);
  fs::last_write_time(folder_ / "a-20261119-091024-1.rcr", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const std::vector<StoredReport> reports = Open().Reports();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].name, "b-20261119-091024-1-c0ffee.rcraw");  // the newer one
  EXPECT_EQ(reports[1].stem, "a-20261119-091024-1");
  EXPECT_EQ(reports[1].bytes, 15u);
  EXPECT_EQ(reports[1].size, 5u);
  EXPECT_TRUE(Open().Remove(reports[1]));
  EXPECT_FALSE(Open().Remove(reports[1]));
  EXPECT_THAT(folder_.names(), ElementsAre("b-20261119-091024-1-c0ffee.rcraw"));
}

// Nothing else in the folder is ours to count or to remove.
TEST_F(Folder, HasNothingElse) {
  for (const char* name : {"notes.txt", "mine.rcr", "crash_test.rcr", "a-20261119-091024-1.rcr.bak", "own-reports"})
    Write(name);
  fs::create_directory(folder_ / "a-20261119-091024-1.rcr");
  fs::create_symlink("notes.txt", folder_ / "a-20261119-091024-2.rcr");
  ASSERT_EQ(mkfifo((folder_ / "a-20261119-091024-3.rcr").c_str(), 0600), 0);
  EXPECT_THAT(Open().Reports(), IsEmpty());
}

// A name is not enough to take a file away.
TEST_F(Folder, KnowsReportsByTheirBeginnings) {
  const auto write = [&](const std::string& suffix, const std::string& text) {
    WriteBytes(folder_ / ("a-20261119-091024-1" + suffix), {text.begin(), text.end()});
  };
  write(".rcr", "\x89RCR\r\n\x1a\n and more");
  write(".dmp", "MDMP and more");
  EXPECT_TRUE(Open().BeginsAsReport(Open().Reports()[0]));
  write(".dmp", "Dear diary");
  EXPECT_FALSE(Open().BeginsAsReport(Open().Reports()[0]));
  fs::remove(folder_ / "a-20261119-091024-1.dmp");
  for (const std::string& text : {std::string("RCSHRAW1"), std::string(), std::string(8, '\0')}) {
    write(".rcr", text);
    EXPECT_TRUE(Open().BeginsAsReport(Open().Reports()[0])) << text;
  }
  write(".rcr",
        "\x7f"
        "ELF");
  EXPECT_FALSE(Open().BeginsAsReport(Open().Reports()[0]));
}

// Between the look and the removal somebody puts a link in the report's place.
TEST_F(Folder, RemovesNoLink) {
  Write("a-20261119-091024-1.rcr");
  Write("notes.txt");
  const std::vector<StoredReport> reports = Open().Reports();
  fs::remove(folder_ / "a-20261119-091024-1.rcr");
  fs::create_symlink("notes.txt", folder_ / "a-20261119-091024-1.rcr");
  EXPECT_FALSE(Open().Remove(reports[0]));
  EXPECT_THAT(folder_.names(), ElementsAre("a-20261119-091024-1.rcr", "notes.txt"));
}

TEST_F(Folder, OfOthersFilesHasNone) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give files away";
  Write("a-20261119-091024-1.rcr");
  ASSERT_EQ(chown((folder_ / "a-20261119-091024-1.rcr").c_str(), 4242, 4242), 0);
  EXPECT_THAT(Open().Reports(), IsEmpty());
}

TEST_F(Folder, LosesPartsOfWritersThatWereKilled) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const std::string killed = folder_ / "a-20261119-091024-1.rcr", alive = folder_ / "a-20261119-091024-2.rcr";
  const pid_t writer = fork();
  if (writer == 0) {
    Result<OutputFile> file = OutputFile::CreateNew(killed);
    if (write(ready[1], "x", 1) == 1) pause();
    _exit(1);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  Result<OutputFile> file = OutputFile::CreateNew(alive);
  ASSERT_TRUE(file);
  EXPECT_EQ(Open().RemoveDeadParts(), 0u);
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  EXPECT_EQ(Open().RemoveDeadParts(), 1u);
  EXPECT_THAT(folder_.names(), ElementsAre("a-20261119-091024-2.rcr.part"));
  EXPECT_TRUE(file->Keep());
  EXPECT_EQ(Open().RemoveDeadParts(), 0u);
}

TEST_F(Folder, KeepsPartsThatAreNotOurs) {
  for (const char* name : {"film.part", "a.rcr.part", "a-20261119-091024-1.iso.part"}) Write(name);
  fs::create_directory(folder_ / "a-20261119-091024-1.rcr.part");
  Write("victim");
  fs::create_symlink("victim", folder_ / "a-20261119-091024-2.rcr.part");
  EXPECT_EQ(Open().RemoveDeadParts(), 0u);
  EXPECT_EQ(folder_.names().size(), 6u);
}

// Who clears away looks at each file at every moment of its writer's life.
TEST_F(Folder, IsClearedWhileOthersWrite) {
  constexpr int kWriters = 3, kReports = 400;
  const pid_t cleaner = fork();
  if (cleaner == 0)
    for (const ReportFolder folder = Open();;) folder.RemoveDeadParts();
  std::vector<pid_t> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    for (int i = 0, number = 0; i < kReports; ++number) {
      Result<OutputFile> file = OutputFile::CreateNew(
          folder_ / ("a-20261119-091024-" + std::to_string(writer) + "-" + std::to_string(number) + ".rcr"));
      if (!file && file.error().code == Errc::kTaken) continue;
      if (!file || !file->Keep()) _exit(1);
      ++i;
    }
    _exit(0);
  }
  for (const pid_t writer : writers) {
    int status = 0;
    waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  kill(cleaner, SIGKILL);
  waitpid(cleaner, nullptr, 0);
  EXPECT_EQ(Open().Reports().size(), size_t{kWriters * kReports});
}

}  // namespace
}  // namespace recrash
