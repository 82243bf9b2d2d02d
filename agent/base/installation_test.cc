#include "agent/base/installation.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/testing_files.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

// A prefix that has been moved to a folder of its own, and a command in it: this executable under the command's name.
class Installation : public ::testing::Test {
 protected:
  Installation() {
    unsetenv("RECRASH_SUPPORT_DIR");
    for (const char* folder : {"bin", "lib/recrash", "elsewhere"}) fs::create_directories(prefix_ / folder);
    for (const char* folder : {"lib/recrash", "elsewhere"}) WriteBytes(prefix_ / folder + "/part.so", {1});
    WriteBytes(prefix_ / "bin/beside.so", {1});
  }

  // What InstalledFile finds in a process whose executable is `command`: a path below the prefix, or the message.
  std::string Find(const std::string& command, const std::string& name) {
    std::error_code error;
    fs::copy_file("/proc/self/exe", prefix_ / command, fs::copy_options::overwrite_existing, error);
    setenv("RECRASH_TEST_INSTALLED_FILE", name.c_str(), 1);
    const std::string out = prefix_ / "out";
    const std::string line = prefix_ / command + " --gtest_filter=InstalledFile.Tells > /dev/null 3> " + out;
    EXPECT_EQ(system(line.c_str()), 0);
    unsetenv("RECRASH_TEST_INSTALLED_FILE");
    const std::vector<uint8_t> bytes = ReadBytes(out);
    const std::string found(bytes.begin(), bytes.end());
    return found.starts_with(prefix_.path()) ? found.substr(prefix_.path().size() + 1) : found;
  }

  TemporaryDirectory prefix_;
};

// Not a case of its own: what Installation::Find runs.
TEST(InstalledFile, Tells) {
  const char* name = getenv("RECRASH_TEST_INSTALLED_FILE");
  if (!name) return;
  const Result<fs::path> found = InstalledFile(name);
  const std::string text = found ? found->string() : found.error().message;
  EXPECT_EQ(write(3, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST_F(Installation, IsFoundFromACommandInBin) { EXPECT_EQ(Find("bin/recrash", "part.so"), "lib/recrash/part.so"); }

TEST_F(Installation, IsFoundFromTheLauncherWhichLiesInIt) {
  EXPECT_EQ(Find("lib/recrash/recrash-launch", "part.so"), "lib/recrash/part.so");
}

TEST_F(Installation, IsTheOneThatTheEnvironmentNames) {
  setenv("RECRASH_SUPPORT_DIR", (prefix_ / "elsewhere").c_str(), 1);
  EXPECT_EQ(Find("bin/recrash", "part.so"), "elsewhere/part.so");
  EXPECT_EQ(Find("lib/recrash/recrash-launch", "part.so"), "elsewhere/part.so");
}

// A file beside the command, or in the folder that the environment does not name, is not part of the installation.
TEST_F(Installation, IsOneFolderAlone) {
  EXPECT_EQ(Find("bin/recrash", "beside.so"),
            "beside.so is needed, not found at " + prefix_.path() +
                "/lib/recrash/beside.so\n  install recrash as a whole (./dev build), or name its lib/recrash in "
                "RECRASH_SUPPORT_DIR");
  setenv("RECRASH_SUPPORT_DIR", (prefix_ / "bin").c_str(), 1);
  EXPECT_TRUE(Find("bin/recrash", "part.so").starts_with("part.so is needed, not found at "));
}

}  // namespace
}  // namespace recrash
