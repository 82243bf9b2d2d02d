// Frames that nobody instrumented: what DWARF alone gives, and when it is enough for a call.
#include "testgen/symbols/values/dwarf_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

using testing::ElementsAre;

constexpr char kProgram[] = R"(
struct Pair { int a; float b; };
struct Large { long x[4]; };
struct Owner { long id; Owner(long i) : id(i) {} Owner(const Owner& o) : id(o.id) {} ~Owner() {} };
__attribute__((noinline)) int Inner(const int* data, long key, Pair pair, Large large, Owner owner) {
  return *data + key + pair.a + pair.b + large.x[2] + owner.id;
}
__attribute__((noinline)) int Outer(int count, const int* data, int unused) {
  Large large{{1, 2, count, 4}};
  const int inner = Inner(data, 40 + count, {count, 2.5f}, large, Owner(count + 5));
  return inner + count;
}
int main(int argc, char**) { return Outer(argc + 6, nullptr, 9) + 1; }
)";

class Uninstrumented : public testing::TestWithParam<const char*> {};

TEST_P(Uninstrumented, FramesAreCandidatesWhenDwarfHasAllArguments) {
  const Fixture fixture(kProgram, GetParam());
  const Backtrace backtrace = MustRead(fixture.Crash());
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Inner", "Outer", "main"));

  const Frame& inner = backtrace.frames[0];
  EXPECT_FALSE(inner.monitored);
  EXPECT_TRUE(inner.candidate) << inner.why_not;
  EXPECT_EQ(ValueOf(ParameterOf(inner, "data")), 0u);
  EXPECT_EQ(ValueOf(ParameterOf(inner, "key")), 47u);
  EXPECT_EQ(ParameterOf(inner, "pair").rendered, "Pair {a = 7, b = 2.5}");
  EXPECT_EQ(ParameterOf(inner, "large").rendered, "Large {x = {1, 2, 7, 4}}");
  EXPECT_EQ(ParameterOf(inner, "owner").rendered, "Owner {id = 12}");
  EXPECT_TRUE(ParameterOf(inner, "owner").indirect);
  for (const Parameter& parameter : inner.parameters) EXPECT_EQ(parameter.source, ValueSource::kDwarf);
  const auto at = [&](abi::Location location) {
    return std::count_if(inner.words.begin(), inner.words.end(),
                         [&](const ReplayWord& word) { return word.location == location; });
  };
  EXPECT_EQ(at(abi::Location::kRdi), 1);
  EXPECT_EQ(at(abi::Location::kRcx), 1);    // the owner's address
  EXPECT_EQ(at(abi::Location::kStack), 2);  // 32 bytes of Large

  const Frame& outer = backtrace.frames[1];
  EXPECT_TRUE(outer.candidate) << outer.why_not;
  EXPECT_EQ(ValueOf(ParameterOf(outer, "count")), 7u);
}

INSTANTIATE_TEST_SUITE_P(Builds, Uninstrumented,
                         testing::Values("-O0 -g", "-O0 -g -gdwarf-4", "-O0 -g -no-pie -fno-pie"));

// At -O2 a dead argument is in no register any more; what its caller says it passed brings it back.
TEST(CallSites, GiveWhatTheCalleeDropped) {
  const Fixture fixture(R"(
__attribute__((noinline)) int Crash(const int* p, long a) { return *p + a; }
__attribute__((noinline)) int Drops(long key, const int* p, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) sum += Crash(p, i);
  return sum + 1;
}
__attribute__((noinline)) long Knows(long base, const int* p, long factor) {
  long r = Drops(base, p, 3);
  return r * factor + base;
}
int main(int argc, char**) { return Knows(argc + 40, nullptr, argc + 1) + 1; }
)",
                        "-O2 -g");
  const Backtrace backtrace = MustRead(fixture.Crash());
  const Frame& drops = FrameOf(backtrace, "Drops(");
  EXPECT_EQ(ValueOf(ParameterOf(drops, "rounds")), 3u);
  const Frame& knows = FrameOf(backtrace, "Knows(");
  EXPECT_EQ(ValueOf(ParameterOf(knows, "base")), 41u);
  EXPECT_TRUE(knows.candidate) << knows.why_not;
}

TEST(LinesOnly, AreNoCandidates) {
  const Fixture fixture(kProgram, "-O2 -g1");
  const Backtrace backtrace = MustRead(fixture.Crash());
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Inner", "Outer", "main"));
  EXPECT_FALSE(backtrace.frames[0].candidate);
  EXPECT_EQ(backtrace.frames[0].line, 6u);
  // Functions without inlined calls are left out altogether, others have a name and no parameters.
  EXPECT_TRUE(backtrace.frames[0].why_not.starts_with("it has no record")) << backtrace.frames[0].why_not;
  const Fixture inlined(
      "inline int Sum(const int* p) { return *p; }\n"
      "__attribute__((noinline)) int Outer(const int* p) { return Sum(p) + 1; }\n"
      "int main() { return Outer(nullptr) + 1; }\n",
      "-O2 -g1");
  const Backtrace lines = MustRead(inlined.Crash());
  const Frame& outer = FrameOf(lines, "Outer(");
  EXPECT_EQ(outer.why_not, "it has no record, and its debug information has lines only");
}

TEST(NoDebugInformation, LeavesNames) {
  const Fixture fixture(kProgram, "-O2");
  const Backtrace backtrace = MustRead(fixture.Crash());
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Inner", "Outer", "main"));
  EXPECT_FALSE(backtrace.frames[0].candidate);
  EXPECT_EQ(backtrace.frames[0].why_not, "it has no record and no debug information");
}

// As libstdc++ runs a thread: its code has no debug information, and keeps the object to use it once more.
constexpr char kVirtual[] = R"(
struct Job {
  const long* values;
  long index;
  long result = 0;
  Job(const long* v, long i) : values(v), index(i) {}
  virtual void Run();
  virtual void Done() { result = 0; }
};
long sum;
__attribute__((noinline)) long At(const long* values, long index) { return values[index]; }
void Job::Run() { sum = At(values, index); }
__attribute__((noinline, nodebug)) void Start(Job* job) { job->Run(); job->Done(); }
int main(int argc, char**) {
  Job job(nullptr, argc);
  Start(&job);
  return static_cast<int>(job.result + sum);
}
)";

TEST(VirtualFunctions, HaveTheObjectThatTheirCallerKeeps) {
  const Fixture fixture(kVirtual, "-O2 -g");
  const Backtrace backtrace = MustRead(fixture.Crash());
  const Frame& run = FrameOf(backtrace, "Job::Run");
  EXPECT_TRUE(run.candidate) << run.why_not;
  EXPECT_THAT(ParameterOf(run, "this").rendered, testing::HasSubstr("index = 1"));
}

}  // namespace
}  // namespace recrash
