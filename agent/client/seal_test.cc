// Programs that write over the client, or take away the thread that is in it: they die of their own signal, and soon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

using testing::HasSubstr;

void ExpectReportOfTheOverrun(const Program& program) {
  const Ran ran = program.Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.code, SEGV_ACCERR) << "a page that is there, and read-only";
  EXPECT_LT(report.failure.pc - ran.address(), 200u) << "in the function that overruns";
}

// An array in the program's .bss is overrun by 64 KiB. The client lies behind it, and without its seal Breakpad's mutex
// was garbage, and a crash that came later waited for it for ever. The page is writable when the report is made: the
// program must not go on over it.
TEST(Overrun, IsReportedWhereItMeetsTheClient) { ExpectReportOfTheOverrun(Program::Failing("overrun")); }

TEST(Overrun, IsReportedInAStaticProgram) { ExpectReportOfTheOverrun(Program::Static("overrun")); }

class Linkers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Linkers, testing::Values("lld", "lld_fixed", "gold", "bfd_fixed"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Linkers, KeepTheClientInPagesOfItsOwn) {
  const std::optional<Program> program = Program::LinkedBy(GetParam(), "overrun");
  if (!program) GTEST_SKIP() << "there is no such linker";
  ExpectReportOfTheOverrun(*program);
  EXPECT_EQ(Program::LinkedBy(GetParam(), "report")->Run().outcome(), 7);
}

// With the seal broken and everything overwritten nothing can be hoped for but the end.
TEST(RuinedClient, DiesOfTheSignal) {
  for (const char* byte : {"0", "1", "65", "255"}) {
    EXPECT_EQ(Program::Failing("ruin").With("RUIN", byte).Run().outcome(), -SIGSEGV) << byte;
    EXPECT_EQ(Program::Static("ruin").With("RUIN", byte).Run().outcome(), -SIGSEGV) << byte;
  }
}

// While a collector that takes a second makes nothing.
class SlowCollector : public testing::Test {
 protected:
  SlowCollector() : path_(testing::TempDir() + "recrash-slow-" + std::to_string(getpid())) {
    std::ofstream(path_) << "#!/bin/sh\nsleep 1\nexit 3\n";
    chmod(path_.c_str(), 0700);
  }
  ~SlowCollector() override { unlink(path_.c_str()); }
  Program Failing(const std::string& failure) const {
    return Program::Failing(failure).With("RECRASH_COLLECTOR", path_).With("RECRASH_OPTIONS", "timeout=5");
  }

 private:
  std::string path_;
};

TEST_F(SlowCollector, IsNotLeftByAThreadThatIsCancelled) {
  const Ran ran = Failing("cancel").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport(".rcraw").failure.signal, SIGSEGV);
}

TEST_F(SlowCollector, IsNotLeftByAHandlerThatJumps) {
  const Ran ran = Failing("jump").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport(".rcraw").failure.signal, SIGSEGV);
}

// Two handlers that each give way to the other would go round for ever.
TEST(EarlierHandler, ThatPutsTheClientBackEndsTheProgram) {
  const Ran ran = Program::Failing("put-back").With("EARLIER_HANDLER", "1").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport().failure.signal, SIGSEGV);
}

// A parent that waits for the end of its child before it reads what the child has said.
TEST(FullPipe, DoesNotHoldTheProgramBack) {
  const Ran ran = Program::Failing("full-pipe").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport().failure.signal, SIGSEGV);
}

}  // namespace
}  // namespace recrash
