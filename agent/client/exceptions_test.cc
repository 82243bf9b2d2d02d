// Exceptions that nobody catches: type, what() and the frames of the throw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstring>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

using testing::HasSubstr;

// Whether some word of the copied stack is a return address into the function that begins at `function`.
bool HoldsReturnInto(const ThrownStack& thrown, TargetAddress function) {
  for (size_t i = 0; i + 8 <= thrown.bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, thrown.bytes.data() + i, sizeof word);
    if (word > function.value && word < function.value + 64) return true;
  }
  return false;
}

TEST(UncaughtException, IsReportedWithTypeAndWhat) {
  const Ran ran = Program::Failing("throw").Run();
  EXPECT_EQ(ran.outcome(), -SIGABRT);
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.kind, FailureKind::kException);
  EXPECT_EQ(report.failure.signal, SIGABRT);
  EXPECT_EQ(report.failure.exception_type, "St13runtime_error");
  EXPECT_EQ(report.failure.exception_what, "boom 3");
  ASSERT_TRUE(report.thrown);
  EXPECT_LT(report.thrown->registers.pc() - ran.address().value, 1000u) << "in the caller of __cxa_throw";
  EXPECT_EQ(report.thrown->registers.sp(), report.thrown->address.value);
}

// libstdc++'s own handler must still say its word before SIGABRT.
TEST(UncaughtException, IsStillPrintedByTheRuntime) {
  const Ran ran = Program::Failing("throw").Run();
  EXPECT_THAT(ran.errors(), HasSubstr("terminate called after throwing an instance of 'std::runtime_error'"));
  EXPECT_THAT(ran.errors(), HasSubstr("what():  boom 3"));
  EXPECT_THAT(ran.errors(), HasSubstr("uncaught exception std::runtime_error: boom 3"));
}

// What the runtime prints itself is as it would be without us.
TEST(UncaughtException, SaysNothingInOurLineThatATerminalObeys) {
  const std::string errors = Program::Failing("throw-escapes").Run().errors();
  const size_t begin = errors.find("recrash: uncaught exception");
  ASSERT_NE(begin, errors.npos) << errors;
  const std::string line = errors.substr(begin, errors.find('\n', begin) - begin);
  EXPECT_THAT(line, HasSubstr("std::runtime_error: \\x1b]0;pwn\\x07\\u009b\\u202e\\nrecrash: all is well in failures"));
  EXPECT_THAT(line, HasSubstr("): report in /"));
}

TEST(UncaughtException, OfTheLibrarysOwnThrowIsSeen) {
  const Report report = Program::Failing("throw-in-library").Run().OnlyReport();
  EXPECT_EQ(report.failure.exception_type, "St12out_of_range");
  EXPECT_THAT(report.failure.exception_what, HasSubstr("basic_string::at"));
}

TEST(UncaughtException, IsSeenByThePreloadedClient) {
  const Report report = Program::Unwatched("throw-in-library").Preloaded().Run().OnlyReport();
  EXPECT_EQ(report.failure.kind, FailureKind::kException);
  EXPECT_EQ(report.failure.exception_type, "St12out_of_range");
}

// std::exception may lie anywhere in the object, and its place is in the vtable.
TEST(UncaughtException, BehindAVirtualBaseHasItsWhat) {
  EXPECT_EQ(Program::Failing("throw-virtual").Run().OnlyReport().failure.exception_what, "found behind a virtual base");
}

TEST(UncaughtException, ThatIsNoStdExceptionHasNoWhat) {
  const Report report = Program::Failing("throw-number").Run().OnlyReport();
  EXPECT_THAT(report.failure.exception_type, HasSubstr("NotAnException"));
  EXPECT_EQ(report.failure.exception_what, "");
}

// noexcept unwinds up to itself, running destructors, before std::terminate: the frames below are gone from the stack,
// and only the copy has them.
TEST(Noexcept, LeavesTheFramesOfTheThrowInTheCopy) {
  const Ran ran = Program::Failing("noexcept").Run();
  EXPECT_THAT(ran.errors(), HasSubstr("cleaned up"));
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.exception_what, "boom 3");
  ASSERT_TRUE(report.thrown);
  EXPECT_TRUE(HoldsReturnInto(*report.thrown, ran.address())) << "Promise calls Throw";
}

TEST(Noexcept, HasNoCopyWhereTheOptionSaysSo) {
  const Report report = Program::Failing("noexcept").With("RECRASH_OPTIONS", "throw_stack=0").Run().OnlyReport();
  EXPECT_EQ(report.failure.exception_what, "boom 3");
  EXPECT_FALSE(report.thrown);
}

// As thread cancellation does: such an exception has no type, and to ask libstdc++ for it reads what is not there.
TEST(ForeignException, ThroughNoexceptReachesTheProgramsHandler) {
  const Ran ran = Program::Failing("noexcept-foreign").Run();
  EXPECT_EQ(ran.outcome(), -SIGABRT);
  EXPECT_THAT(ran.errors(), HasSubstr("own terminate handler\n"));
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.kind, FailureKind::kSignal);
  EXPECT_EQ(report.failure.signal, SIGABRT);
}

TEST(UncaughtException, ThrownAgainIsTheSame) {
  const Report report = Program::Failing("rethrow").Run().OnlyReport();
  EXPECT_EQ(report.failure.exception_what, "boom 3");
  EXPECT_TRUE(report.thrown);
}

// The frames inside of the handler's function are gone from the stack when the second exception is thrown.
TEST(ReplacedException, IsKeptWithTheStackOfItsThrow) {
  for (const bool with_collector : {true, false}) {
    const Ran ran = with_collector ? Program::Failing("replace").Run()
                                   : Program::Failing("replace").With("RECRASH_COLLECTOR", "/nonexistent").Run();
    const Report report = ran.OnlyReport(with_collector ? ".rcr" : ".rcraw");
    EXPECT_EQ(report.failure.exception_what, "replaced");
    ASSERT_TRUE(report.thrown && report.replaced);
    EXPECT_EQ(report.replaced->type, "St13runtime_error");
    EXPECT_EQ(report.replaced->what, "boom 3");
    const ThrownStack& stack = report.replaced->stack;
    EXPECT_EQ(stack.registers.sp(), stack.address.value);
    EXPECT_NE(stack.registers.pc(), report.thrown->registers.pc());
    EXPECT_TRUE(HoldsReturnInto(stack, ran.address())) << "Replace calls Throw";
  }
}

TEST(ReplacedException, InASecondThreadIsKept) {
  EXPECT_TRUE(Program::Failing("thread-replace").Run().OnlyReport().replaced);
}

TEST(ReplacedException, IsTheFirstOfSeveral) {
  const Report report = Program::Failing("replace-twice").Run().OnlyReport();
  EXPECT_EQ(report.failure.exception_type, "St9bad_alloc");
  ASSERT_TRUE(report.replaced);
  EXPECT_EQ(report.replaced->type, "St13runtime_error");
  EXPECT_EQ(report.replaced->what, "") << "it was gone by then";
}

TEST(ReplacedException, StaysWhereTheHandlerHasOthersOfItsOwn) {
  const Ran ran = Program::Failing("replace-later").Run();
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.exception_what, "replaced");
  ASSERT_TRUE(report.replaced);
  EXPECT_EQ(report.replaced->what, "boom 3");
  EXPECT_TRUE(HoldsReturnInto(report.replaced->stack, ran.address()));
}

TEST(ReplacedException, IsTheOneWhoseHandlerThrew) {
  const Report report = Program::Failing("throw-in-handler").Run().OnlyReport();
  EXPECT_EQ(report.failure.exception_type, "St9bad_alloc");
  ASSERT_TRUE(report.replaced);
  EXPECT_THAT(report.replaced->type, HasSubstr("NotAnException"));
}

// noexcept has ended the handler before std::terminate runs, and with it the exception that it had.
TEST(ReplacedException, ThroughNoexceptIsKept) {
  const Report report = Program::Failing("replace-noexcept").Run().OnlyReport();
  EXPECT_EQ(report.failure.exception_what, "replaced");
  ASSERT_TRUE(report.replaced);
  EXPECT_EQ(report.replaced->type, "St13runtime_error");
}

TEST(ReplacedException, IsNotOneThatWasHandled) {
  for (const char* failure : {"throw", "rethrow", "throw-after-replacing", "replace-stored"})
    EXPECT_FALSE(Program::Failing(failure).Run().OnlyReport().replaced) << failure;
}

// As std::future::get does: the thread that threw it is gone, and its stack with it; the exception is not.
TEST(UncaughtException, OfAnotherThreadHasTypeAndWhat) {
  const Report report = Program::Failing("rethrow-from-thread").Run().OnlyReport();
  EXPECT_EQ(report.failure.kind, FailureKind::kException);
  EXPECT_EQ(report.failure.exception_type, "St13runtime_error");
  EXPECT_EQ(report.failure.exception_what, "boom 3");
  EXPECT_FALSE(report.thrown);
}

TEST(UncaughtException, InASecondThreadIsSeen) {
  const Report report = Program::Failing("thread-throw").Run().OnlyReport();
  EXPECT_EQ(report.failure.exception_what, "boom 3");
  EXPECT_NE(report.failing_thread()->id, report.process.pid);
}

// An abort after a caught exception has nothing to do with it.
TEST(CaughtException, DoesNotColourALaterAbort) {
  const Report report = Program::Failing("abort-after-catch").Run().OnlyReport();
  EXPECT_EQ(report.failure.kind, FailureKind::kSignal);
  EXPECT_EQ(report.failure.exception_type, "");
  EXPECT_FALSE(report.thrown);
}

// main catches everything, prints it and returns: with the option that is a failure, what others catch is none.
TEST(CaughtInMain, IsReportedWhereTheOptionSaysSo) {
  const Ran silent = Program::Failing("caught-in-main").Run();
  EXPECT_EQ(silent.outcome(), 5);
  EXPECT_TRUE(silent.Files("").empty());
  const Ran ran = Program::Failing("caught-in-main").With("RECRASH_OPTIONS", "exceptions=main").Run();
  EXPECT_EQ(ran.outcome(), 5);
  EXPECT_THAT(ran.errors(), HasSubstr("main: boom 3"));
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.kind, FailureKind::kException);
  EXPECT_EQ(report.failure.exception_type, "St13runtime_error");
  EXPECT_EQ(report.failure.exception_what, "boom 3");
  ASSERT_TRUE(report.thrown);
  EXPECT_LT(report.thrown->registers.pc() - ran.address().value, 1000u);
}

// It keeps get_terminate(), which is our handler, and calls it: that must neither loop nor lose the report.
TEST(OwnTerminateHandler, RunsAndTheReportIsMade) {
  const Ran ran = Program::Failing("own-terminate").Run();
  EXPECT_EQ(ran.outcome(), -SIGABRT);
  EXPECT_THAT(ran.errors(), HasSubstr("own terminate handler\n"));
  EXPECT_EQ(ran.OnlyReport().failure.exception_what, "boom 3");
}

// The recorded memory shows the program as it would be without us: a replay has no preloaded library, and would jump
// into nothing at its first std::terminate.
TEST(TerminateHandler, IsTheProgramsOwnInTheRecordedMemory) {
  const Ran ran = Program::Unwatched("terminate-handler").Preloaded().Run();
  const Report report = ran.OnlyReport();
  const uint64_t ours = ran.address().value;
  ASSERT_NE(ours, 0u);
  const Module* client = report.FindModule({ours});
  ASSERT_TRUE(client != nullptr && client->path.ends_with("librecrash_preload.so")) << "get_terminate() gives ours";
  int words = 0;
  for (const Region& region : report.memory) {
    const Module* module = report.FindModule(region.address);
    if (module == nullptr || module->path.find("libstdc++") == std::string::npos) continue;
    for (size_t i = 0; i + 8 <= region.bytes.size(); i += 8) words += *report.ReadWord(region.address + i) == ours;
  }
  EXPECT_EQ(words, 0);
}

}  // namespace
}  // namespace recrash
