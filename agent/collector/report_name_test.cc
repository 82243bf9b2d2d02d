#include "agent/collector/report_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "agent/base/testing_files.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(ReportName, HoldsProgramTimeAndProcess) {
  EXPECT_EQ(ReportBaseName("/usr/bin/tool", 1795000000, 42), "tool-20261118-110640-42");
  EXPECT_EQ(ReportBaseName("/usr/bin/tool (deleted)", 0, 1), "tool-19700101-000000-1");
}

// The program's path is its user's to choose; the name must need no quoting and lie in the folder.
TEST(ReportName, IsHarmlessWhateverTheProgramIsCalled) {
  EXPECT_EQ(ReportBaseName("/x/a b\n;$(rm)\xff", 0, 1), "a_b____rm__-19700101-000000-1");
  EXPECT_EQ(ReportBaseName("/x/..", 0, 1), "_.-19700101-000000-1");
  EXPECT_EQ(ReportBaseName("", 0, 1), "program-19700101-000000-1");
  EXPECT_LT(ReportBaseName(std::string(5000, 'x'), 0, 1).size(), 160u);
}

class NewReports : public testing::Test {
 protected:
  NewReports() : base_(ReportBaseName("/bin/app", 0, 1)) {}
  Result<OutputFile> New() const { return NewReport(folder_.path(), base_); }

  TemporaryDirectory folder_;
  std::string base_;
};

TEST_F(NewReports, AreNumberedWhereTheNameIsTaken) {
  ASSERT_TRUE(New()->Keep());
  WriteBytes(folder_ / (base_ + "-2.rcr"), {1});
  ASSERT_EQ(symlink("/nowhere", (folder_ / (base_ + "-3.rcr")).c_str()), 0);
  EXPECT_EQ(New()->path(), folder_ / (base_ + "-4.rcr"));
}

TEST_F(NewReports, AreNumberedWhereAnotherIsBeingWritten) {
  Result<OutputFile> first = New(), second = New();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->path(), second->path());
  EXPECT_THAT(folder_.names(), ElementsAre(base_ + "-2.rcr.part", base_ + ".rcr.part"));
  ASSERT_TRUE(second->Keep() && first->Keep());
  EXPECT_THAT(folder_.names(), ElementsAre(base_ + "-2.rcr", base_ + ".rcr"));
}

// Each process has the number 1 in its container, and all crash within a second. Nobody takes another's place.
TEST_F(NewReports, OfManyWritersAreAllKept) {
  constexpr int kWriters = 24, kReports = 20;
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  for (int writer = 0; writer < kWriters; ++writer) {
    if (fork() != 0) continue;
    close(gate[1]);
    char none;
    if (read(gate[0], &none, 1) != 0) _exit(1);
    for (int i = 0; i < kReports; ++i) {
      const std::string text = std::to_string(writer) + "/" + std::to_string(i);
      Result<OutputFile> file = New();
      if (!file) _exit(2);
      file->WriteAt(0, text.data(), text.size());
      if (!file->Keep()) _exit(3);
    }
    _exit(0);
  }
  close(gate[0]);
  close(gate[1]);
  for (int status; wait(&status) > 0;) EXPECT_EQ(status, 0);
  std::set<std::string> texts;
  for (const std::string& name : folder_.names()) {
    std::ifstream file(folder_ / name);
    std::string text;
    std::getline(file, text);
    texts.insert(text);
  }
  EXPECT_THAT(folder_.names(), SizeIs(kWriters * kReports));
  EXPECT_THAT(texts, SizeIs(kWriters * kReports));
}

}  // namespace
}  // namespace recrash
