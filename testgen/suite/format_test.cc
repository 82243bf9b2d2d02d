#include "testgen/suite/format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "agent/base/testing_files.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

// A clang-format that writes where it was asked to work, in place of the real one.
class Format : public ::testing::Test {
 protected:
  Format() {
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "project/tests");
    Script("#!/bin/sh\nprintf 'formatted %s' \"$1\" > \"$3\"\n");
    setenv("PATH", (folder_ / "bin:" + path_).c_str(), 1);
  }
  ~Format() override { setenv("PATH", path_.c_str(), 1); }

  void Script(const std::string& text) {
    std::ofstream(folder_ / "bin/clang-format") << text;
    fs::permissions(folder_ / "bin/clang-format", fs::perms::owner_all);
  }
  std::string Formatted() { return FormattedFor(folder_ / "project/tests", "source"); }

  const std::string path_ = std::getenv("PATH");
  TemporaryDirectory folder_;
};

TEST_F(Format, IsThatOfTheProjectAround) {
  EXPECT_EQ(Formatted(), "source");
  std::ofstream(folder_ / "project/.clang-format") << "BasedOnStyle: Google\n";
  EXPECT_EQ(Formatted(), "formatted --style=file");
  EXPECT_TRUE(fs::is_empty(folder_ / "project/tests"));
}

TEST_F(Format, LeavesTheSourceIfItFails) {
  std::ofstream(folder_ / "project/.clang-format") << "BasedOnStyle: Google\n";
  Script("#!/bin/sh\necho broken > \"$3\"\nexit 1\n");
  EXPECT_EQ(Formatted(), "source");
}

}  // namespace
}  // namespace recrash
