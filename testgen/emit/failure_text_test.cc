#include "testgen/emit/failure_text.h"

#include <gtest/gtest.h>

#include "testgen/emit/testing_frames.h"

namespace recrash {
namespace {

TEST(PlainFunction, HasNoParametersNoTemplateArgumentsNoReturnType) {
  EXPECT_EQ(PlainFunction("main"), "main");
  EXPECT_EQ(PlainFunction("Tree::insert(int) const"), "Tree::insert");
  EXPECT_EQ(PlainFunction("ns::Tree<int, std::less<int> >::insert(int)"), "ns::Tree::insert");
  EXPECT_EQ(PlainFunction("void ns::f<int>(int (*)(char))"), "ns::f");
  EXPECT_EQ(PlainFunction("(anonymous namespace)::Greeter::Greet(char const*)"), "Greeter::Greet");
  EXPECT_EQ(PlainFunction("std::vector<int>& f<(anonymous namespace)::A>()"), "f");
  EXPECT_EQ(PlainFunction("f(int)::Local::g(char)"), "f::Local::g");
  EXPECT_EQ(PlainFunction("walk(Node*) [clone .isra.0]"), "walk");
}

TEST(PlainFunction, KeepsOperators) {
  EXPECT_EQ(PlainFunction("A::operator()(int) const"), "A::operator()");
  EXPECT_EQ(PlainFunction("A::operator()"), "A::operator()");
  EXPECT_EQ(PlainFunction("std::ostream& operator<< <int>(std::ostream&, int)"), "operator<<");
  EXPECT_EQ(PlainFunction("bool A::operator<(A const&) const"), "A::operator<");
  EXPECT_EQ(PlainFunction("A::operator->()"), "A::operator->");
  EXPECT_EQ(PlainFunction("A::operator bool() const"), "A::operator bool");
  EXPECT_EQ(PlainFunction("operators(int)"), "operators");
}

// Whatever a report calls a function: its name is a part of that, has no parameters and no template arguments, and is
// its own name.
TEST(PlainFunction, OfAnythingIsAName) {
  size_t named = 0;
  for (const std::string& hostile : testing_frames::HostileTexts()) {
    const std::string name = PlainFunction(hostile);
    EXPECT_LE(name.size(), hostile.size()) << hostile;
    EXPECT_EQ(PlainFunction(name), name) << hostile;
    if (!name.starts_with("operator")) EXPECT_EQ(name.find_first_of("<( "), name.npos) << hostile;
    named += name.empty() ? 0 : 1;
  }
  EXPECT_GT(named, testing_frames::HostileTexts().size() / 2);
}

TEST(ShortFunction, IsTheLastPart) {
  EXPECT_EQ(ShortFunction("ns::Tree<A::B>::insert(ns::Key)"), "insert");
  EXPECT_EQ(ShortFunction("(anonymous namespace)::run()"), "run");
}

TEST(FailureText, SaysWhatAndWhere) {
  EXPECT_EQ(FailureText(testing_frames::GreeterReport(), testing_frames::GreeterBacktrace()),
            "SIGSEGV in FormatName at greeter.cc:41");
}

// The failing instruction is in strlen; whose fault it is, the first frame of the program's own says.
TEST(FailureText, NamesTheInnermostFrameOfTheProgramsOwn) {
  Backtrace backtrace = testing_frames::GreeterBacktrace();
  backtrace.frames[0].own = false;
  EXPECT_EQ(FailureText(testing_frames::GreeterReport(), backtrace), "SIGSEGV in Greet at greeter.cc:57");
}

// vector::at is compiled into the program; who called it with a wrong index matters.
TEST(FailureText, PassesOverTheLibraryThatIsInlined) {
  Backtrace backtrace = testing_frames::GreeterBacktrace();
  backtrace.frames[0].function = "std::vector<int, std::allocator<int> >::at(unsigned long)";
  backtrace.frames[0].inlined = true;
  EXPECT_EQ(FailureText(testing_frames::GreeterReport(), backtrace), "SIGSEGV in Greet at greeter.cc:57");
}

TEST(FailureText, WithoutSymbolsHasModuleAndOffset) {
  Report report = testing_frames::GreeterReport();
  report.failure.pc = {0x5555'0000'1234};
  EXPECT_EQ(FailureText(report), "SIGSEGV at address 0x555500001234");
  Module module;
  module.path = "/usr/lib/libgreet.so";
  module.base = {0x5555'0000'0000};
  module.size = 0x10000;
  report.modules.push_back(module);
  EXPECT_EQ(FailureText(report), "SIGSEGV in libgreet.so+0x1234");
}

TEST(FailureKindText, GivesTheReasonWhereThereIsOne) {
  Failure failure;
  failure.signal = 6;
  failure.abort_message = "free(): invalid pointer\n";
  EXPECT_EQ(FailureKindText(failure), "SIGABRT (free(): invalid pointer)");
  failure.kind = FailureKind::kException;
  failure.exception_type = "St8bad_cast";
  failure.exception_what = "std::bad_cast";
  EXPECT_EQ(FailureKindText(failure), "uncaught std::bad_cast (std::bad_cast)");
  failure.kind = FailureKind::kReported;
  failure.reason = "queue is full";
  EXPECT_EQ(FailureKindText(failure), "RECRASH_REPORT (queue is full)");
}

TEST(TimeText, IsUtc) { EXPECT_EQ(TimeText(1'795'000'000'000'000'000), "2026-11-18 11:06:40 UTC"); }

}  // namespace
}  // namespace recrash
