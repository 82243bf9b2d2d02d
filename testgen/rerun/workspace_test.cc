// The folder of a second run, for reports that name what no honest one does.
#include "testgen/rerun/workspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/base/testing_files.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RerunFolder : public testing::Test {
 protected:
  RerunFolder() {
    alarm(60);  // nothing here may wait for anything
    report_.process.working_directory = theirs_.path();
  }
  ~RerunFolder() override { alarm(0); }

  void Names(const std::string& word) { report_.process.arguments = {"program", word}; }
  Status Fill() { return workspace_->Refresh(report_); }
  void ExpectTooMuch() {
    const Status status = Fill();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::kRefused);
    EXPECT_THAT(status.error().message, HasSubstr("found more than 20000 files, 1024 MiB or 100 folders"));
  }
  bool Has(const std::string& name) const { return fs::exists(workspace_->current() / name); }

  TemporaryDirectory theirs_;
  Report report_;
  Result<Workspace> workspace_ = Workspace::Make();
};

TEST_F(RerunFolder, HasCopiesOfFilesAndFolders) {
  fs::create_directories(theirs_ / "data/more");
  WriteBytes(theirs_ / "data/more/file", {1, 2, 3});
  ASSERT_EQ(chmod((theirs_ / "data/more/file").c_str(), 0750), 0);
  Names("--input=data");
  ASSERT_TRUE(Fill());
  const std::string copy = workspace_->current() / "data/more/file";
  EXPECT_EQ(ReadBytes(copy), (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(fs::status(copy).permissions(), fs::perms(0750));
}

TEST_F(RerunFolder, OpensNoFifosAndNoDevices) {
  fs::create_directories(theirs_ / "data");
  ASSERT_EQ(mkfifo((theirs_ / "data/fifo").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", theirs_ / "data/zero");
  WriteBytes(theirs_ / "data/file", {1});
  Names("data");
  ASSERT_TRUE(Fill());
  EXPECT_TRUE(Has("data/file"));
  EXPECT_FALSE(Has("data/fifo"));
  EXPECT_FALSE(Has("data/zero"));
}

// They say that they are regular and empty. Reading some of them never ends.
TEST_F(RerunFolder, OpensNothingThatTheKernelMakesUp) {
  fs::create_symlink("/proc/self/maps", theirs_ / "link");
  Names("link");
  ASSERT_TRUE(Fill());
  EXPECT_FALSE(Has("link"));
  report_.process.working_directory = "/proc/self";
  Names("maps");
  ASSERT_TRUE(Fill());
  EXPECT_FALSE(Has("maps"));
  Names("task");
  ASSERT_TRUE(Fill());
  EXPECT_FALSE(Has("task"));
}

TEST_F(RerunFolder, FollowsNoLinksInCircles) {
  fs::create_directories(theirs_ / "data");
  fs::create_directory_symlink(".", theirs_ / "data/again");
  fs::create_symlink("self", theirs_ / "data/self");
  Names("data");
  ASSERT_TRUE(Fill());
  EXPECT_FALSE(Has("data/again"));
}

TEST_F(RerunFolder, RefusesAHugeFile) {
  WriteBytes(theirs_ / "huge", {});
  fs::resize_file(theirs_ / "huge", (uint64_t{1} << 30) + 1);  // a hole
  Names("huge");
  ExpectTooMuch();
}

TEST_F(RerunFolder, RefusesManyFiles) {
  fs::create_directories(theirs_ / "many");
  for (int i = 0; i <= 20000; ++i) std::ofstream(theirs_ / ("many/" + std::to_string(i)));
  Names("many");
  ExpectTooMuch();
}

TEST_F(RerunFolder, RefusesDeepFolders) {
  std::string path = "deep";
  for (int i = 0; i < 110; ++i) path += "/d";
  fs::create_directories(theirs_ / path);
  Names("deep");
  ExpectTooMuch();
}

// A mebibyte by two thousand names.
TEST_F(RerunFolder, RefusesOneInputByManyNames) {
  Input input;
  input.content = InputContent::kHeld;
  input.bytes.resize(1 << 20);
  input.size = input.bytes.size();
  for (int i = 0; i < 2000; ++i) input.names.push_back("copy" + std::to_string(i));
  report_.inputs = {input};
  ExpectTooMuch();
}

}  // namespace
}  // namespace recrash
