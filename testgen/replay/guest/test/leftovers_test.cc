// A replay stands in an empty folder; none is left, even when the processes that made it were killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "testgen/replay/guest/test/testing_test_library.h"
#include "testgen/replay/host/sandbox_check.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

// Called again it never ends.
constexpr char kProgram[] = R"(
#include <unistd.h>
volatile int calls = 0;
__attribute__((noinline)) void Use(int* where) {
  if (calls++) for (;;) pause();
  *where = 1;
}
int main(int argc, char**) { Use(argc > 5 ? &argc : nullptr); }
)";
constexpr char kTests[] = R"(
#include <recrash/test.h>
TEST(Crash, Hangs) {
  recrash::Frame frame(0);
  RECRASH_EXPECT_FIXED(frame.Call());
}
)";

bool Within(int seconds, const std::function<bool()>& is_so) {
  for (int i = 0; i < seconds * 100 && !is_so(); ++i) usleep(10'000);
  return is_so();
}

class Leftovers : public ::testing::Test {
 protected:
  Leftovers() : program_(kProgram) {
    program_.report().replay.frames[0].start.sealed = true;
    tests_ = BuildTestLibrary(program_, kTests);
    fs::create_directory(Temporary());
    // The launcher, beside the replay library from which a remedy can be left out.
    fs::create_directory(Support());
    fs::create_symlink(RECRASH_TEST_SUPPORT_DIRECTORY "/recrash-launch", Support() / "recrash-launch");
    fs::create_symlink(RECRASH_TEST_REMEDIES_DIRECTORY "/librecrash_replay.so", Support() / "librecrash_replay.so");
  }

  fs::path Support() const { return program_.fixture().path("support"); }
  fs::path Temporary() const { return program_.fixture().path("temporary"); }
  bool IsEmpty() const { return fs::is_empty(Temporary()); }
  // The folder of a run is there, which is made in that of the subject.
  bool HasRun() const {
    std::error_code gone;
    for (const fs::directory_entry& subject : fs::directory_iterator(Temporary()))
      if (fs::directory_iterator(subject, gone) != fs::directory_iterator()) return true;
    return false;
  }

  pid_t Start(const char* option, const char* without) const {
    const pid_t child = fork();
    if (child != 0) return child;
    setenv("TMPDIR", Temporary().c_str(), 1);
    setenv("RECRASH_SUPPORT_DIR", Support().c_str(), 1);
    setenv("RECRASH_WITHOUT", without, 1);
    const int null = open("/dev/null", O_RDWR);
    for (int descriptor = 0; descriptor < 3; ++descriptor) dup2(null, descriptor);
    execl(tests_.c_str(), tests_.c_str(), option, nullptr);
    _exit(127);
  }

  // Kills `victim` of it (given the process) while its replay runs, and waits for its end.
  void KillOneRun(const char* option, const char* without, const std::function<pid_t(pid_t)>& victim) const {
    const pid_t child = Start(option, without);
    EXPECT_TRUE(Within(30, [&] { return HasRun(); })) << "no replay in 30 s";
    kill(victim(child), SIGKILL);
    waitpid(child, nullptr, 0);
  }

 private:
  ReplayedProgram program_;
  std::string tests_;
};

pid_t Itself(pid_t process) { return process; }

pid_t ItsChild(pid_t process) {
  const std::string number = std::to_string(process);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  pid_t child = process;
  children >> child;
  return child;
}

TEST_F(Leftovers, AreNoneOfAHostThatWasKilled) {
  KillOneRun("--recrash-no-same-bases", "", ItsChild);
  EXPECT_TRUE(Within(10, [&] { return IsEmpty(); }));
}

TEST_F(Leftovers, AreNoneOfALauncherThatWasKilled) {
  KillOneRun("--gtest_color=no", "", Itself);
  EXPECT_TRUE(Within(10, [&] { return IsEmpty(); }));
}

// As gdb does when it quits.
TEST_F(Leftovers, AreNoneOfAReplayInPlaceThatWasKilled) {
  KillOneRun("--recrash-in-process", "", Itself);
  EXPECT_TRUE(Within(10, [&] { return IsEmpty(); }));
}

TEST_F(Leftovers, AreThereWhenNobodyWaits) {
  KillOneRun("--recrash-in-process", "keeper", Itself);
  EXPECT_FALSE(Within(1, [&] { return IsEmpty(); }));
}

// The first process of process numbers whose processes run this program.
int CountHolders() {
  int count = 0;
  const fs::path self = fs::read_symlink("/proc/self/exe");
  for (const fs::directory_entry& process : fs::directory_iterator("/proc")) {
    std::error_code error;
    if (fs::read_symlink(process.path() / "exe", error) != self) continue;
    std::ifstream status(process.path() / "status");
    for (std::string line; std::getline(status, line);) count += line.starts_with("NSpid:") && line.ends_with("\t1");
  }
  return count;
}

// What it tries holds namespaces open, by a process of its own.
TEST(SandboxCheck, LeavesNoProcess) {
  const int before = CountHolders();
  WhatTheSandboxLacks();
  EXPECT_TRUE(Within(5, [&] { return CountHolders() <= before; })) << CountHolders() << " after " << before;
}

}  // namespace
}  // namespace recrash
