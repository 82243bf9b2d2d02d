#include "agent/base/file_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "agent/base/signal_safe/part_file.h"
#include "agent/base/testing_files.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NewFile : public testing::Test {
 protected:
  TemporaryDirectory folder_;
  std::string path_ = folder_ / "a";
};

TEST_F(NewFile, AppearsWhenItIsWhole) {
  {
    Result<OutputFile> file = OutputFile::CreateNew(path_);
    ASSERT_TRUE(file);
    file->WriteAt(0, "text", 4);
    EXPECT_THAT(folder_.names(), ElementsAre("a.part"));
    ASSERT_TRUE(file->Keep());
  }
  EXPECT_THAT(folder_.names(), ElementsAre("a"));
  EXPECT_EQ(ReadBytes(path_).size(), 4u);
}

TEST_F(NewFile, ThatIsNotKeptIsGone) {
  ASSERT_TRUE(OutputFile::CreateNew(path_));
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(NewFile, TakesNoFilesPlace) {
  WriteBytes(path_, {1, 2, 3});
  EXPECT_EQ(OutputFile::CreateNew(path_).error().code, Errc::kTaken);
  EXPECT_EQ(ReadBytes(path_).size(), 3u);
  EXPECT_THAT(folder_.names(), ElementsAre("a"));
}

TEST_F(NewFile, TakesNoWritersPlace) {
  Result<OutputFile> first = OutputFile::CreateNew(path_);
  EXPECT_EQ(OutputFile::CreateNew(path_).error().code, Errc::kTaken);
  EXPECT_THAT(folder_.names(), ElementsAre("a.part"));
  ASSERT_TRUE(first->Keep());
  EXPECT_EQ(OutputFile::CreateNew(path_).error().code, Errc::kTaken);
}

// A link that somebody has put there, to have a file of ours overwritten.
TEST_F(NewFile, FollowsNoLinks) {
  WriteBytes(folder_ / "victim", {1});
  ASSERT_EQ(symlink("victim", (path_ + ".part").c_str()), 0);
  EXPECT_EQ(OutputFile::CreateNew(path_).error().code, Errc::kTaken);
  ASSERT_EQ(symlink("nowhere", (folder_ / "b").c_str()), 0);
  EXPECT_EQ(OutputFile::CreateNew(folder_ / "b").error().code, Errc::kTaken);
  EXPECT_EQ(ReadBytes(folder_ / "victim").size(), 1u);
}

TEST_F(NewFile, IsLockedUntilItHasItsName) {
  Result<OutputFile> file = OutputFile::CreateNew(path_);
  ASSERT_TRUE(file);
  const Fd other(open((path_ + ".part").c_str(), O_RDWR));
  EXPECT_FALSE(signal_safe::IsDeadPart(other.get()));
  ASSERT_TRUE(file->Keep());
  EXPECT_TRUE(signal_safe::IsDeadPart(other.get()));
}

// Between the making of a part file and its lock.
TEST_F(NewFile, IsNoneIfSomebodyTookItForADeadWriters) {
  const Fd file(open((path_ + ".part").c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  {
    const Fd other(open((path_ + ".part").c_str(), O_RDWR));
    ASSERT_TRUE(signal_safe::IsDeadPart(other.get()));
    EXPECT_FALSE(signal_safe::LockPart(file.get()));
    unlink((path_ + ".part").c_str());
  }
  EXPECT_FALSE(signal_safe::LockPart(file.get()));
}

TEST_F(NewFile, SaysWhatHinders) {
  const Result<OutputFile> file = OutputFile::CreateNew(folder_ / "none/a");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::kRefused);
  EXPECT_THAT(file.error().message, testing::HasSubstr("report not written: No such file"));
}

}  // namespace
}  // namespace recrash
