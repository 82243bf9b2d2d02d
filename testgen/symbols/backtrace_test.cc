// Whole back-traces of real crashes: compiled, run, captured, read.
#include "testgen/symbols/backtrace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

using testing::ElementsAre;

// Each function hands its arguments on and still works afterwards, so that no call is a tail call.
constexpr char kGreeter[] = R"(
struct Greeter {
  const char* greeting;
  int count;
  __attribute__((noinline)) int Format(const char* name, int times);
};
__attribute__((noinline)) int Greeter::Format(const char* name, int times) {
  int length = 0;
  for (int i = 0; i < times; ++i) length += name[i];
  return length + count;
}
__attribute__((noinline)) int Greet(Greeter& greeter, const char* name, long unused, short times) {
  return greeter.Format(name, times + 1) + greeter.count;
}
int main(int argc, char**) {
  Greeter greeter{"hello", 41 + argc};
  return Greet(greeter, argc > 5 ? "x" : nullptr, 7, 3) + 1;
}
)";

class Levels : public testing::TestWithParam<const char*> {};

TEST_P(Levels, RecordsGiveTheArgumentsOfEachFrame) {
  const Fixture fixture(kGreeter, Monitored(GetParam()));
  const Report report = fixture.Crash();
  const Backtrace backtrace = MustRead(report);
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Greeter::Format", "Greet", "main"));

  const Frame& format = FrameOf(backtrace, "Greeter::Format");
  EXPECT_TRUE(format.monitored);
  EXPECT_TRUE(format.candidate) << format.why_not;
  EXPECT_EQ(ValueOf(ParameterOf(format, "name")), 0u);
  EXPECT_EQ(ValueOf(ParameterOf(format, "times")), 4u);
  EXPECT_EQ(ParameterOf(format, "name").type.name, "const char*");
  EXPECT_TRUE(ParameterOf(format, "this").is_receiver);

  const Frame& greet = FrameOf(backtrace, "Greet(");
  EXPECT_TRUE(greet.candidate) << greet.why_not;
  EXPECT_EQ(ParameterOf(greet, "greeter").type.name, "Greeter&");
  EXPECT_EQ(ValueOf(ParameterOf(greet, "greeter")), ValueOf(ParameterOf(format, "this")));
  EXPECT_EQ(ValueOf(ParameterOf(greet, "times")), 3u);
  EXPECT_EQ(ParameterOf(greet, "times").source, ValueSource::kRecord);
}

INSTANTIATE_TEST_SUITE_P(Optimisation, Levels,
                         testing::Values("-O0 -g", "-O1 -g", "-O2 -g", "-O2 -g -no-pie -fno-pie",
                                         "-O2 -g -fno-omit-frame-pointer", "-Os -g", "-O2 -gdwarf-4"));

// A stack may overflow in the recorder, which runs at entries of the program's functions. The failure is the program's,
// at the function that was entered.
TEST(FailingPlace, IsNotInTheRecorder) {
  for (const std::string recorder : {"record", "snapshot"}) {  // as it is called, and as it was in older builds
    const Fixture fixture(R"(
namespace recrash::RECORDER {
struct Log { int* pages; __attribute__((noinline)) int Add(int page) const { return pages[page] + 1; } };
__attribute__((noinline)) int OnEntry(const Log& log) { return log.Add(3) + 1; }
}
__attribute__((noinline)) int Handle(int depth) {
  const recrash::RECORDER::Log log{nullptr};
  return recrash::RECORDER::OnEntry(log) + depth;
}
int main(int argc, char**) { return Handle(argc) + 1; }
)",
                          "-O1 -g -DRECORDER=" + recorder);
    const Backtrace backtrace = MustRead(fixture.Crash());
    EXPECT_FALSE(FrameOf(backtrace, "recrash::" + recorder + "::Log::Add").own);
    EXPECT_FALSE(FrameOf(backtrace, "recrash::" + recorder + "::OnEntry").own);
    EXPECT_EQ(backtrace.place.function, "_Z6Handlei");
  }
}

// g++ splits a function, and its debug information does not say which piece is entered.
TEST(Backtrace, EntersAFunctionAtItsWarmPiece) {
  const Fixture fixture(R"(
struct Node { int value; Node* next; };
__attribute__((noinline)) int Check(int depth) {
  if (depth > 3) throw depth;
  return depth;
}
__attribute__((noinline)) int Read(const Node* node, int depth) {
  try {
    return node->value + Check(depth);
  } catch (int) {
    return node->next->value;
  }
}
int main(int argc, char**) {
  Node node{argc, nullptr};
  return Read(&node, argc) + Read(&node, argc + 3);
}
)");
  fixture.Run("g++ -O2 -g program.cc -o program");
  const Report report = fixture.Crash();
  const Result<Symbols> symbols = Symbols::Open(report, {});
  ASSERT_TRUE(symbols);
  const Frame read = FrameOf(MustRead(report, *symbols), "Read(");
  LoadedModule& program = *symbols->modules().program();
  const std::vector<uint64_t> entries = program.names->FunctionsNamed("_Z4ReadPK4Nodei");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(read.entry.value, entries[0] + program.bias());
  EXPECT_LT(read.pc.value, read.entry.value);  // linkers put cold pieces first
}

}  // namespace
}  // namespace recrash
