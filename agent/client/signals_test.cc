// Programs that die of a signal: each leaves a report and dies as it would have without us.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct SignalCase {
  const char* failure;
  int signal;
};

void PrintTo(const SignalCase& one, std::ostream* out) { *out << one.failure; }

class Signals : public testing::TestWithParam<SignalCase> {};

INSTANTIATE_TEST_SUITE_P(All, Signals,
                         testing::Values(SignalCase{"segv", SIGSEGV}, SignalCase{"abort", SIGABRT},
                                         SignalCase{"fpe", SIGFPE}, SignalCase{"ill", SIGILL},
                                         SignalCase{"bus", SIGBUS}, SignalCase{"trap", SIGTRAP}),
                         [](const auto& info) { return std::string(info.param.failure); });

TEST_P(Signals, LeaveAReportOfTheFailingPlace) {
  const Ran ran = Program::Failing(GetParam().failure).Run();
  EXPECT_EQ(ran.outcome(), -GetParam().signal);
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.kind, FailureKind::kSignal);
  EXPECT_EQ(report.failure.signal, GetParam().signal);
  const Thread* thread = report.failing_thread();
  ASSERT_NE(thread, nullptr);
  EXPECT_EQ(report.failure.pc.value, thread->registers.pc());
  EXPECT_THAT(ran.errors(), HasSubstr(ran.Path(ran.Files(".rcr").front())));
  EXPECT_EQ(std::ranges::count(ran.errors(), '\n'), 1) << ran.errors();
  if (GetParam().signal == SIGABRT) return;  // pc in libc
  EXPECT_LT(report.failure.pc - ran.address(), 200u);
}

// The program must die as it would have: what its parent sees, and its core, are none of our business.
TEST_P(Signals, EndTheProgramAsWithoutUs) {
  const Ran watched = Program::Failing(GetParam().failure).WithCores().Run();
  const Ran plain = Program::Unwatched(GetParam().failure).WithCores().Run();
  EXPECT_EQ(watched.outcome(), plain.outcome());
  EXPECT_EQ(watched.dumped_core(), plain.dumped_core());
}

TEST_P(Signals, AreSeenByThePreloadedClient) {
  const Ran ran = Program::Unwatched(GetParam().failure).Preloaded().Run();
  EXPECT_EQ(ran.outcome(), -GetParam().signal);
  EXPECT_EQ(ran.OnlyReport().failure.signal, GetParam().signal);
}

TEST(Signals, SentByHandAreReportedAndKill) {
  const Ran ran = Program::Failing("raise").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_LE(ran.OnlyReport().failure.code, 0);
  EXPECT_EQ(ran.OnlyReport().failure.address.value, 0u);
}

TEST(Signals, NullReadHasItsAddress) {
  const Report report = Program::Failing("segv").Run().OnlyReport();
  EXPECT_EQ(report.failure.code, SEGV_MAPERR);
  EXPECT_EQ(report.failure.address.value, 0u);
}

TEST(AbortMessage, OfAnAssertionIsKept) {
  EXPECT_THAT(Program::Failing("assert").Run().OnlyReport().failure.abort_message,
              HasSubstr("g_zero == 1 && \"zero became one\""));
}

TEST(AbortMessage, OfTheAllocatorIsKept) {
  EXPECT_EQ(Program::Failing("free").Run().OnlyReport().failure.abort_message,
            "free(): double free detected in tcache 2");
}

TEST(AbortMessage, IsEmptyWithoutOne) {
  EXPECT_THAT(Program::Failing("abort").Run().OnlyReport().failure.abort_message, IsEmpty());
}

// A handler that was there first gets the signal after the report is made, and decides how the program ends.
TEST(EarlierHandler, RunsAfterTheReport) {
  const Ran ran = Program::Failing("segv").With("EARLIER_HANDLER", "1").Run();
  EXPECT_EQ(ran.outcome(), 66);
  EXPECT_EQ(ran.OnlyReport().failure.signal, SIGSEGV);
  EXPECT_THAT(ran.errors(), HasSubstr("earlier handler: code 1\n"));
}

// int3 does not trap again, so its signal is queued once more: with the code it had (SI_KERNEL).
TEST(EarlierHandler, GetsABreakpointAsItCame) {
  const Ran ran = Program::Failing("trap").With("EARLIER_HANDLER", "1").Run();
  EXPECT_EQ(ran.outcome(), 66);
  EXPECT_THAT(ran.errors(), HasSubstr("earlier handler: code 128\n"));
}

// What the agent notes of the end of a child of vfork is in its parent's memory.
TEST(VforkChild, ThatFailedLeavesItsParentAReportOfItsOwn) {
  const Ran ran = Program::Failing("vfork").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.Files(".rcr").size(), 2u) << ran.errors();
}

TEST(NoFailure, LeavesNothingAndSaysNothing) {
  const Ran ran = Program::Failing("nothing").Run();
  EXPECT_EQ(ran.outcome(), 7);
  EXPECT_THAT(ran.errors(), IsEmpty());
  EXPECT_THAT(ran.Files(""), IsEmpty());
}

// The archive needs no C++ runtime, and neither does the preloaded library.
TEST(CProgram, IsReportedWithTheClientLinked) {
  const Ran ran = Program::LinkedC().Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  for (const Module& module : ran.OnlyReport().modules) EXPECT_THAT(module.path, Not(HasSubstr("libstdc++")));
}

TEST(CProgram, IsReportedWithTheClientPreloaded) {
  const Ran ran = Program::PlainC().Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.process.mode, "");
  for (const Module& module : report.modules) EXPECT_THAT(module.path, Not(HasSubstr("libstdc++")));
}

// Both clients in one process: the preloaded one came first and does the work, alone.
TEST(Preloaded, TakesOverFromALinkedClient) {
  const Ran crashed = Program::Failing("segv").Preloaded().Run();
  EXPECT_EQ(crashed.OnlyReport().failure.signal, SIGSEGV);
  const Ran reported = Program::Failing("report").Preloaded().Run();
  EXPECT_EQ(reported.OnlyReport().failure.reason, "totals disagree");
}

TEST(ReportedFailure, LeavesAReportAndTheProgramGoesOn) {
  const Ran ran = Program::Failing("report").Run();
  EXPECT_EQ(ran.outcome(), 7);
  EXPECT_THAT(ran.output(), HasSubstr("goes on"));
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.kind, FailureKind::kReported);
  EXPECT_EQ(report.failure.reason, "totals disagree");
  EXPECT_LT(report.failure.pc - ran.address(), 200u) << "the caller's pc";
  const auto stack = report.ReadWord({report.failing_thread()->registers.sp()});
  EXPECT_TRUE(stack) << "the caller's stack is kept";
}

TEST(ReportedFailure, GetsANameOfItsOwnEachTime) {
  const Ran ran = Program::Failing("report-thrice").Run();
  EXPECT_EQ(ran.outcome(), 7);
  EXPECT_EQ(ran.Files(".rcr").size(), 3u) << ran.errors();
}

TEST(ReportedFailure, CostsNothingWithoutAClient) {
  const Ran ran = Program::Unwatched("report").Run();
  EXPECT_EQ(ran.outcome(), 7);
  EXPECT_THAT(ran.errors(), IsEmpty());
}

TEST(ReportedFailure, RestoresWhatTheProgramHadSet) {
  const Ran ran = Program::Failing("not-dumpable").Run();
  EXPECT_EQ(ran.output(), "0\n");
  EXPECT_EQ(ran.OnlyReport().failure.reason, "secret");
}

// In a replay the program's signals and stacks belong to the replay library.
TEST(ReplayMode, InstallsNothing) {
  const Ran crashed = Program::Failing("segv").With("RECRASH_REPLAY", "1").Run();
  EXPECT_EQ(crashed.outcome(), -SIGSEGV);
  EXPECT_THAT(crashed.errors(), IsEmpty());
  EXPECT_THAT(crashed.Files(""), IsEmpty());
  const Ran reported = Program::Failing("report").With("RECRASH_REPLAY", "1").Run();
  EXPECT_EQ(reported.outcome(), 7);
  EXPECT_THAT(reported.errors(), IsEmpty());
}

class Collectors : public testing::Test {
 protected:
  // A program in the collector's place.
  std::string Script(const std::string& text) {
    path_ = testing::TempDir() + "recrash-script-" + std::to_string(getpid());
    std::ofstream(path_) << "#!/bin/sh\n" << text << "\n";
    chmod(path_.c_str(), 0700);
    return path_;
  }
  ~Collectors() override { unlink(path_.c_str()); }

 private:
  std::string path_;
};

TEST_F(Collectors, MissingLeaveARawReport) {
  const Ran ran = Program::Failing("segv").With("RECRASH_COLLECTOR", "/nonexistent").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_THAT(ran.errors(), HasSubstr("no recrash-collector was found"));
  const Report report = ran.OnlyReport(".rcraw");
  EXPECT_EQ(report.failure.signal, SIGSEGV);
  EXPECT_LT(report.failure.pc - ran.address(), 200u);
  EXPECT_TRUE(report.ReadWord({report.failing_thread()->registers.sp()}));
}

TEST_F(Collectors, FailingLeaveARawReportAndTheirStatus) {
  const Ran ran = Program::Failing("segv").With("RECRASH_COLLECTOR", Script("exit 3")).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_THAT(ran.errors(), HasSubstr("ended with status 3"));
  EXPECT_EQ(ran.OnlyReport(".rcraw").failure.signal, SIGSEGV);
}

// A program carries its client with it; the collector beside it may be older.
TEST_F(Collectors, OlderThanTheirClientLeaveAReport) {
  const std::string exec = "exec " RECRASH_TEST_COLLECTOR " $1 $2 $3 $4 ";
  const Ran more = Program::Failing("segv").With("RECRASH_COLLECTOR", Script(exec + "0 0 '' 0 0 more and more")).Run();
  EXPECT_EQ(more.OnlyReport().failure.signal, SIGSEGV);
  const Ran other = Program::Failing("segv").With("RECRASH_COLLECTOR", Script(exec + "0 1000")).Run();
  EXPECT_THAT(other.OnlyReport().losses, testing::Contains(HasSubstr("of another version of recrash")));
}

TEST_F(Collectors, HangingAreEndedAtTheTimeLimit) {
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = Program::Failing("segv")
                      .With("RECRASH_COLLECTOR", Script("trap '' ALRM; while :; do sleep 0.05; done"))
                      .With("RECRASH_OPTIONS", "timeout=1")
                      .Run();
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_THAT(ran.errors(), HasSubstr("did not end in time (RECRASH_OPTIONS=timeout=1)"));
  EXPECT_EQ(ran.OnlyReport(".rcraw").failure.signal, SIGSEGV);
  EXPECT_GE(took, std::chrono::milliseconds(400));
  EXPECT_LT(took, std::chrono::seconds(10));
}

TEST(RawReport, HoldsWhatACollectorWouldFind) {
  const Ran ran = Program::Failing("open-file").With("RECRASH_COLLECTOR", "/nonexistent").Run();
  const Report report = ran.OnlyReport(".rcraw");
  ASSERT_NE(report.program(), nullptr);
  EXPECT_EQ(report.process.arguments.back(), "open-file");
  const auto file = std::ranges::find(report.files, 17, &OpenFile::descriptor);
  ASSERT_NE(file, report.files.end());
  EXPECT_EQ(file->offset, 100u);
  EXPECT_EQ(file->path, report.process.program);
}

TEST(RawReport, KeepsTheThrownStack) {
  const Ran ran = Program::Failing("noexcept").With("RECRASH_COLLECTOR", "/nonexistent").Run();
  const Report report = ran.OnlyReport(".rcraw");
  EXPECT_EQ(report.failure.exception_type, "St13runtime_error");
  EXPECT_EQ(report.failure.exception_what, "boom 3");
  EXPECT_TRUE(report.thrown);
}

TEST(RawReport, KeepsTheAbortMessage) {
  const Ran ran = Program::Failing("assert").With("RECRASH_COLLECTOR", "/nonexistent").Run();
  EXPECT_THAT(ran.OnlyReport(".rcraw").failure.abort_message, HasSubstr("zero became one"));
}

TEST(ReportFolder, ThatCannotBeMadeIsSaidAndNothingIsLeft) {
  const Ran ran = Program::Failing("segv").With("RECRASH_DIR", "/proc/nowhere").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_THAT(ran.errors(), HasSubstr("/proc/nowhere: cannot be made"));
  EXPECT_THAT(ran.errors(), HasSubstr("nor could a raw report be written"));
}

// Neither the collector nor the fallback leaves half a file, and the program does not die of SIGXFSZ instead.
TEST(FullDisk, LeavesNothingHalfWritten) {
  const Ran ran = Program::Failing("segv").WithFileSizeLimit(512).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_THAT(ran.Files(""), IsEmpty());
  EXPECT_THAT(ran.errors(), HasSubstr("recrash-collector: error: "));
  EXPECT_THAT(ran.errors(), HasSubstr("nor could a raw report be written"));
}

TEST(ReportFolder, AndItsFilesAreTheUsersAlone) {
  const Ran ran = Program::Failing("segv").Run();
  struct stat status;
  ASSERT_EQ(stat(ran.Path("").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(ran.Path(ran.Files(".rcr").front()).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(ran.Files(".dmp").size(), 1u);
  ASSERT_EQ(stat(ran.Path(ran.Files(".dmp").front()).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(Options, ThatNobodyKnowsAreNamed) {
  const Ran ran = Program::Failing("nothing").With("RECRASH_OPTIONS", "timeout=3,files=names,colour=red").Run();
  EXPECT_THAT(ran.errors(), HasSubstr("\"colour=red\""));
  EXPECT_THAT(ran.errors(), testing::Not(HasSubstr("\"files")));
}

// A death test may ask for all that its child says: EXPECT_DEATH(Check(), "boom\n$") failed with our line behind it.
TEST(Line, IsNotInTheTextThatADeathTestCompares) {
  const Ran ran = Program::Failing("abort-captured").Run();
  EXPECT_EQ(ran.outcome(), -SIGABRT);
  std::ifstream captured(ran.Path("../gtest_captured_stream.abc"));
  const std::string text{std::istreambuf_iterator<char>(captured), {}};
  EXPECT_EQ(text, "boom\n");
  EXPECT_EQ(ran.OnlyReport().failure.signal, SIGABRT);
}

TEST(Line, IsLeftOutWhereTheOptionSaysSo) {
  EXPECT_THAT(Program::Failing("abort").Run().errors(), HasSubstr("recrash: SIGABRT"));
  const Ran ran = Program::Failing("abort").With("RECRASH_OPTIONS", "quiet").Run();
  EXPECT_EQ(ran.errors(), "");
  EXPECT_EQ(ran.OnlyReport().failure.signal, SIGABRT);
}

// A message that our look-ups left for dlerror() would be taken for the program's own, and what start-up allocates
// moves all that the program does after it.
TEST(StartUp, LeavesNoTraceInTheProgram) {
  const Ran plain = Program::Unwatched("untouched").Run();
  EXPECT_THAT(plain.output(), StartsWith("no error"));
  EXPECT_EQ(Program::Failing("untouched").Run().output(), plain.output());
  EXPECT_EQ(Program::Unwatched("untouched").Preloaded().Run().output(), plain.output());
  // A C program has none of the functions behind our hooks.
  EXPECT_THAT(Program::LinkedC().Run().errors(), Not(HasSubstr("before main")));
  EXPECT_THAT(Program::PlainC().Run().errors(), Not(HasSubstr("before main")));
}

}  // namespace
}  // namespace recrash
