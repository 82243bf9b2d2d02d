// Handlers that a program installs after the client, masks, and signals that Breakpad does not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Way {
  const char* name;
  int outcome;  // negated: a signal
  int reported;
};

void PrintTo(const Way& one, std::ostream* out) { *out << one.name; }

class LateHandlers : public testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(All, LateHandlers,
                         testing::Values(Way{"chain-up", SIGSEGV, SIGSEGV}, Way{"reset-and-raise", SIGSEGV, SIGSEGV},
                                         Way{"reset-and-return", SIGSEGV, SIGSEGV},
                                         Way{"reset-by-flag", SIGSEGV, SIGSEGV}, Way{"as-boost-does", SIGABRT, SIGABRT},
                                         Way{"abort", SIGABRT, SIGABRT}, Way{"exit", -66, SIGSEGV},
                                         Way{"exit-at-once", -66, SIGSEGV}, Way{"handler-fails", SIGSEGV, SIGSEGV}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(LateHandlers, LoseNoReport) {
  for (const Program& program : {Program::With(GetParam().name), Program::UnwatchedWith(GetParam().name).Preloaded()}) {
    const Ran ran = program.Run();
    EXPECT_EQ(ran.outcome(), -GetParam().outcome);
    EXPECT_THAT(ran.errors(), HasSubstr("handled\n"));
    const Report report = ran.OnlyReport();
    EXPECT_EQ(report.failure.signal, GetParam().reported);
    // About the failure, and not about what the handler does.
    if (GetParam().reported == SIGSEGV) {
      EXPECT_EQ(report.failure.code, SEGV_MAPERR);
      EXPECT_LT(report.failure.pc - ran.address(), 100u);
      EXPECT_EQ(report.failing_thread()->registers.pc(), report.failure.pc.value);
    }
  }
}

TEST(LateHandler, ThatGoOnAreLeftAlone) {
  for (const char* way : {"probe-memory", "probe-and-exit", "raise-and-go-on", "see-own-actions", "block-and-wait",
                          "block-and-wait-for-failure", "raise-while-blocked", "raise-in-handler"}) {
    const Ran plain = Program::UnwatchedWith(way).Run(), ran = Program::With(way).Run();
    EXPECT_EQ(ran.outcome(), 7) << way;
    EXPECT_EQ(ran.output(), plain.output()) << way;
    EXPECT_EQ(ran.errors(), plain.errors()) << way;
    EXPECT_THAT(ran.Files(""), IsEmpty()) << way;
  }
}

// The failure that a handler has jumped away from is not the one that comes later.
TEST(LateHandler, ThatJumpedAwayAreForgotten) {
  for (const char* way : {"probe-and-fail", "probe-on-stack-that-goes"}) {
    const Ran ran = Program::With(way).Run();
    EXPECT_EQ(ran.outcome(), -SIGSEGV);
    EXPECT_LT(ran.OnlyReport().failure.pc - ran.address(), 100u);
  }
}

class Blocked : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Blocked, testing::Values("worker-blocks-all", "handler-blocks-all"));

// The kernel ended the program at once.
TEST_P(Blocked, SignalsLoseNoReport) {
  const Ran ran = Program::With(GetParam()).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_LT(ran.OnlyReport().failure.pc - ran.address(), 100u);
}

class SignalsBeyondBreakpad : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(All, SignalsBeyondBreakpad,
                         testing::Values(Way{"forbidden-call", SIGSYS, SIGSYS}, Way{"too-much-time", SIGXCPU, SIGXCPU},
                                         Way{"too-large-file", SIGXFSZ, SIGXFSZ}, Way{"quit", SIGQUIT, SIGQUIT},
                                         Way{"stack-fault", SIGSTKFLT, SIGSTKFLT}));

TEST_P(SignalsBeyondBreakpad, LeaveAReportAndEndTheProgram) {
  const Ran plain = Program::UnwatchedWith(GetParam().name).WithCores().Run();
  const Ran ran = Program::With(GetParam().name).WithCores().Run();
  EXPECT_EQ(ran.outcome(), -GetParam().outcome);
  EXPECT_EQ(ran.outcome(), plain.outcome());
  EXPECT_EQ(ran.dumped_core(), plain.dumped_core());
  EXPECT_EQ(ran.OnlyReport().failure.signal, GetParam().reported);
}

// The main thread hangs, whatever it blocks; there is one report of each hang, and the program goes on.
TEST(Watchdog, ReportsAHangOnce) {
  for (const char* way : {"hang", "hang-blocking-all"}) {
    const Ran ran = Program::With(way).With("RECRASH_OPTIONS", "watchdog=1").Run();
    EXPECT_EQ(ran.outcome(), 7);
    const Report report = ran.OnlyReport();
    EXPECT_EQ(report.failure.reason, "hang: no RECRASH_ALIVE() for 1 s");
    EXPECT_EQ(report.threads.size(), 2u);
    EXPECT_EQ(report.failing_thread()->id, report.process.pid);
    EXPECT_LT(report.failing_thread()->registers.pc() - ran.address().value, 100u);
  }
}

TEST(Watchdog, LeavesOtherProgramsAlone) {
  for (const char* way : {"stay-alive", "never-alive"}) {
    const Ran ran = Program::With(way).With("RECRASH_OPTIONS", "watchdog=1").Run();
    EXPECT_EQ(ran.outcome(), 7);
    EXPECT_THAT(ran.Files(""), IsEmpty()) << ran.errors();
  }
  EXPECT_THAT(Program::With("stay-alive").Run().Files(""), IsEmpty());
}

}  // namespace
}  // namespace recrash
