#include "agent/process/proc_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "agent/collector/report_name.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string Stat(const std::string& name) {
  std::string text = "42 (" + name + ") S";
  for (int field = 4; field <= 52; ++field) text += " " + std::to_string(field * 1000);
  return text;
}

TEST(BrkStart, IsTheFortySeventhField) { EXPECT_EQ(BrkStart(Stat("program")), 47000u); }

// /proc/PID/stat counts in hundredths of a second: most crashes have used none.
TEST(CpuTime, IsFinerThanATick) {
  const uint64_t used = CpuTime(getpid());
  EXPECT_GT(used, 0u);
  EXPECT_NE(used % 10'000'000, 0u);
  EXPECT_EQ(CpuTime(999999999), 0u);
}

// The program chooses its name.
TEST(BrkStart, IsFoundBehindAHostileName) {
  EXPECT_EQ(BrkStart(Stat(") S 1 2 (x")), 47000u);
  EXPECT_EQ(BrkStart(""), 0u);
  EXPECT_EQ(BrkStart("42 (cut) S 1 2"), 0u);
}

TEST(FdInfo, GivesPositionAndFlags) {
  OpenFile file;
  ParseFdInfo("pos:\t1234\nflags:\t0100002\nmnt_id:\t12\n", &file);
  EXPECT_EQ(file.offset, 1234u);
  EXPECT_EQ(file.flags, 0100002);
  ParseFdInfo("nothing of the kind", &file);
  EXPECT_EQ(file.offset, 0u);
}

TEST(Arguments, AreEndedByNuls) {
  EXPECT_THAT(SplitArguments(std::string("a\0b c\0\0", 7)), ElementsAre("a", "b c", ""));
  EXPECT_THAT(SplitArguments(""), IsEmpty());
}

TEST(OpenFiles, AreThoseOfThisProcess) {
  const int descriptor = open("/proc/self/exe", O_RDONLY);
  lseek(descriptor, 77, SEEK_SET);
  const std::vector<OpenFile> files = ReadOpenFiles(getpid());
  close(descriptor);
  const auto file = std::ranges::find(files, descriptor, &OpenFile::descriptor);
  ASSERT_NE(file, files.end());
  EXPECT_EQ(file->offset, 77u);
  EXPECT_EQ(file->path, ReadProcLink(getpid(), "exe"));
  EXPECT_GT(file->size, 77u);
}

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

}  // namespace
}  // namespace recrash
