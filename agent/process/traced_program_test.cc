#include "agent/process/traced_program.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/process/proc_files.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"

// The program that is traced is this test itself, started with one of these words: `extern "C"` functions of it are
// easily found.
extern "C" {
__attribute__((noinline, used, visibility("default"))) int RecrashTestStep(int value) {
  __asm__ volatile("" : "+r"(value));
  return value + 1;
}
__attribute__((noinline, used, visibility("default"))) int RecrashTestNest(int depth) {
  if (depth == 0) return 0;
  const int inner = RecrashTestNest(depth - 1);
  __asm__ volatile("" ::: "memory");
  return inner + 1;
}
}

namespace recrash {
namespace {

// Offset of a function from the base of this executable, which is the same in the traced process.
uint64_t OffsetOf(const void* function) {
  Dl_info info{};
  dladdr(function, &info);
  return reinterpret_cast<uint64_t>(function) - reinterpret_cast<uint64_t>(info.dli_fbase);
}

uint64_t AddressIn(pid_t pid, const void* function) {
  for (const Module& module : ModulesFromMappings(ParseMaps(ReadProcFile(pid, "maps")), ReadProcLink(pid, "exe"))) {
    if (module.is_program) return module.base.value + OffsetOf(function);
  }
  return 0;
}

const auto* const kStep = reinterpret_cast<const void*>(&RecrashTestStep);
const auto* const kNest = reinterpret_cast<const void*>(&RecrashTestNest);

TracedStart Self(const std::string& what, double seconds = 30) {
  TracedStart start;
  start.program = std::filesystem::read_symlink("/proc/self/exe");
  start.arguments = {"traced", what};
  start.environment = {"RECRASH_TEST_TRACED=" + what};
  start.directory = "/";
  start.seconds = seconds;
  return start;
}

// What the traced process does in the place of tests.
[[noreturn]] void BeTraced(const std::string& what) {
  if (what == "steps") {
    int value = 0;
    for (int i = 0; i < 5; ++i) value = RecrashTestStep(value);
    _exit(value);
  }
  if (what == "nest") _exit(RecrashTestNest(3));
  if (what == "signal") abort();
  if (what == "user-signal") {
    raise(SIGUSR1);
    _exit(4);
  }
  if (what == "fork") {
    const pid_t child = fork();
    if (child == 0) _exit(RecrashTestStep(6));
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WEXITSTATUS(status));
  }
  if (what == "trap") {
    signal(SIGTRAP, [](int) { _exit(3); });
    __asm__ volatile("int3");
  }
  for (;;) pause();
}

__attribute__((constructor)) void BecomeTraced() {
  if (const char* what = getenv("RECRASH_TEST_TRACED")) BeTraced(what);
}

TracedProgram::OnLoaded Arming(const void* function) {
  return [function](TracedProgram& program) { program.Arm(AddressIn(program.pid(), function)); };
}

// The constructor runs before main but after AT_ENTRY: what is armed there is seen.
TEST(TracedProgram, StopsAtEachEntry) {
  int entries = 0;
  TracedProgram program(Arming(kStep), [&](TracedProgram&, uint64_t, uint64_t) {
    ++entries;
    return AtEntry::kGoOn;
  });
  const Result<int> status = program.Run(Self("steps"));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(entries, 5);
  EXPECT_EQ(WEXITSTATUS(*status), 5);  // the program has not noticed
}

TEST(TracedProgram, GivesTheStackPointersOfARecursion) {
  std::vector<uint64_t> pointers;
  TracedProgram program(Arming(kNest), [&](TracedProgram&, uint64_t, uint64_t sp) {
    pointers.push_back(sp);
    return AtEntry::kGoOn;
  });
  const Result<int> status = program.Run(Self("nest"));
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 3);
  ASSERT_EQ(pointers.size(), 4u);
  EXPECT_TRUE(std::is_sorted(pointers.rbegin(), pointers.rend()));
}

// Addresses are the same in each run: hits of one can be looked for in the next.
TEST(TracedProgram, HasTheSameAddressesInEachRun) {
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  for (int run = 0; run < 2; ++run) {
    TracedProgram program(Arming(kStep), [&](TracedProgram&, uint64_t entry, uint64_t sp) {
      seen.emplace_back(entry, sp);
      return AtEntry::kDisarm;
    });
    ASSERT_TRUE(program.Run(Self("steps")));
  }
  ASSERT_EQ(seen.size(), 2u);  // disarmed at its first entry
  EXPECT_EQ(seen[0], seen[1]);
}

TEST(TracedProgram, GoesOnAloneWhenLetGo) {
  int entries = 0;
  TracedProgram program(Arming(kStep), [&](TracedProgram&, uint64_t, uint64_t) {
    return ++entries == 2 ? AtEntry::kLetGo : AtEntry::kGoOn;
  });
  const Result<int> status = program.Run(Self("steps"));
  ASSERT_TRUE(status);
  EXPECT_EQ(entries, 2);
  EXPECT_EQ(WEXITSTATUS(*status), 5);
}

TEST(TracedProgram, PassesSignalsOn) {
  TracedProgram program([](TracedProgram&) {}, nullptr);
  const Result<int> status = program.Run(Self("signal"));
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFSIGNALED(*status));
  EXPECT_EQ(WTERMSIG(*status), SIGABRT);
}

TEST(TracedProgram, KeepsSignalsBack) {
  std::vector<int> signals;
  const auto keep = [&](TracedProgram& program, int signal) {
    EXPECT_EQ(program.stopped(), program.pid());
    signals.push_back(signal);
    return true;
  };
  TracedProgram program([](TracedProgram&) {}, nullptr, keep);
  const Result<int> status = program.Run(Self("user-signal"));
  ASSERT_TRUE(status);
  EXPECT_EQ(signals, std::vector<int>{SIGUSR1});
  EXPECT_EQ(WEXITSTATUS(*status), 4);
}

TEST(TracedProgram, LeavesTheProgramsOwnBreakpointsToIt) {
  TracedProgram program(Arming(kStep), [](TracedProgram&, uint64_t, uint64_t) { return AtEntry::kGoOn; });
  const Result<int> status = program.Run(Self("trap"));
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 3);
}

// A forked child has our breakpoints in its copy of the program and nobody to answer them.
TEST(TracedProgram, TakesItsBreakpointsOutOfChildren) {
  TracedProgram program(Arming(kStep), [](TracedProgram&, uint64_t, uint64_t) { return AtEntry::kGoOn; });
  const Result<int> status = program.Run(Self("fork"));
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 7);
}

TEST(TracedProgram, IsKilledWhenItsTimeIsOver) {
  TracedProgram program([](TracedProgram&) {}, nullptr);
  const Result<int> status = program.Run(Self("wait", 0.5));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("had not ended"));
}

TEST(TracedProgram, SaysWhenThereIsNoProgram) {
  TracedProgram program([](TracedProgram&) {}, nullptr);
  TracedStart start = Self("steps");
  start.program = "/nowhere/program";
  const Result<int> status = program.Run(start);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("could not be started"));
}

}  // namespace
}  // namespace recrash
