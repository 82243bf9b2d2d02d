// Threads other than main: overflow, crashes side by side, what is kept for each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

TEST(StackOverflow, InMainIsReported) {
  const Ran ran = Program::Failing("overflow").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  const Report report = ran.OnlyReport();
  const uint64_t sp = report.failing_thread()->registers.sp();
  EXPECT_LT(report.failure.address.value - (sp - 4096), 2 * 4096u) << "the failing access is at the stack pointer";
}

// Breakpad gives an alternate stack only to the thread that installs it; without ours this program dies unreported.
TEST(StackOverflow, InASecondThreadIsReported) {
  const Ran ran = Program::Failing("thread-overflow").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  const Report report = ran.OnlyReport();
  EXPECT_NE(report.failing_thread()->id, report.process.pid);
}

TEST(StackOverflow, InASecondThreadIsReportedByThePreloadedClient) {
  const Ran ran = Program::Unwatched("thread-overflow").Preloaded().Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport().failure.signal, SIGSEGV);
}

// Without dynamic symbols nothing is interposed: the hooks come by --wrap.
TEST(StaticProgram, IsWatchedLikeOthers) {
  EXPECT_EQ(Program::Static("nothing").Run().outcome(), 7);
  EXPECT_EQ(Program::Static("many-threads").Run().outcome(), 7);
  EXPECT_EQ(Program::Static("thread-overflow").Run().OnlyReport().failure.signal, SIGSEGV);
  EXPECT_EQ(Program::Static("noexcept").Run().OnlyReport().failure.exception_what, "boom 3");
  EXPECT_EQ(Program::Static("own-terminate").Run().OnlyReport().failure.exception_what, "boom 3");
}

TEST(SecondThread, IsTheFailingOne) {
  const Ran ran = Program::Failing("thread").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  const Report report = ran.OnlyReport();
  ASSERT_EQ(report.threads.size(), 2u);
  EXPECT_NE(report.failing_thread()->id, report.process.pid);
  EXPECT_LT(report.failure.pc - ran.address(), 200u);
  for (const Thread& thread : report.threads) {
    EXPECT_NE(thread.registers.fs_base, 0u);
    EXPECT_NE(thread.registers.pc(), 0u);
    EXPECT_EQ(thread.registers.fxsave.size(), 512u);
  }
  EXPECT_NE(report.threads[0].registers.fs_base, report.threads[1].registers.fs_base);
}

TEST(Threads, HaveTheirNames) {
  const Report report = Program::Failing("named").Run().OnlyReport();
  EXPECT_EQ(report.failing_thread()->name, "worker-7");
}

// Four threads meet at a barrier and crash at once: one report, and the others neither make a second one nor end the
// process before the first is done.
TEST(CrashesSideBySide, MakeOneReport) {
  const Ran ran = Program::Failing("together").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport().failure.signal, SIGSEGV);
  EXPECT_TRUE(ran.Files(".part").empty());
}

// 2000 threads, half of them left by pthread_exit: as many mappings after as before.
TEST(ManyThreads, LeaveNothingOfOursBehind) {
  const Ran ran = Program::Failing("many-threads").Run();
  EXPECT_EQ(ran.outcome(), 7);
  EXPECT_LE(std::abs(std::atoi(ran.output().c_str())), 2) << ran.output();
}

}  // namespace
}  // namespace recrash
