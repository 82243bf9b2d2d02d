#include "agent/base/own_reports.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "agent/base/testing_files.h"

namespace recrash {
namespace {

class OwnReports : public ::testing::Test {
 protected:
  OwnReports() {
    setenv("XDG_STATE_HOME", folder_.path().c_str(), 1);
    WriteBytes(report_, {1, 2, 3});
  }
  ~OwnReports() override { unsetenv("XDG_STATE_HOME"); }

  TemporaryDirectory folder_;
  std::string report_ = folder_ / "crash.rcr";
  std::string list_ = folder_ / "recrash/own-reports";
};

TEST_F(OwnReports, AreThoseThatWereNoted) {
  EXPECT_FALSE(IsOwnReport(report_));
  NoteOwnReport(report_);
  EXPECT_TRUE(IsOwnReport(report_));
}

TEST_F(OwnReports, AreToldByWhatTheyHoldAndNotByTheirPlace) {
  NoteOwnReport(report_);
  std::filesystem::rename(report_, folder_ / "moved.rcr");
  EXPECT_TRUE(IsOwnReport(folder_ / "moved.rcr"));
  WriteBytes(report_, {1, 2, 4});
  EXPECT_FALSE(IsOwnReport(report_));
}

TEST_F(OwnReports, AreNotThoseOfAListThatOthersMayWrite) {
  NoteOwnReport(report_);
  ASSERT_EQ(chmod(list_.c_str(), 0666), 0);
  EXPECT_FALSE(IsOwnReport(report_));
}

// Another program's environment may name the home of another user, who may have put links there.
TEST_F(OwnReports, AreNotedInNoFolderThatOthersMayWrite) {
  const std::string environment = std::string("PATH=/bin\0XDG_STATE_HOME=", 25) + folder_.path() + '\0';
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  NoteOwnReport(report_, environment);
  EXPECT_FALSE(std::filesystem::exists(list_));
  ASSERT_EQ(chmod(folder_.path().c_str(), 0700), 0);
  NoteOwnReport(report_, environment);
  EXPECT_TRUE(IsOwnReport(report_));
}

TEST_F(OwnReports, OfALongListStayKnown) {
  NoteOwnReport(report_);
  std::filesystem::resize_file(list_, 65 * 16132);
  WriteBytes(folder_ / "next.rcr", {4});
  NoteOwnReport(folder_ / "next.rcr");
  WriteBytes(folder_ / "last.rcr", {5});
  NoteOwnReport(folder_ / "last.rcr");
  EXPECT_EQ(std::filesystem::file_size(list_), 65u);
  for (const char* name : {"crash.rcr", "next.rcr", "last.rcr"}) EXPECT_TRUE(IsOwnReport(folder_ / name)) << name;
}

TEST_F(OwnReports, AreNoneWhereThereIsNoReport) {
  NoteOwnReport(folder_ / "nothing.rcr");
  EXPECT_FALSE(IsOwnReport(folder_ / "nothing.rcr"));
}

}  // namespace
}  // namespace recrash
