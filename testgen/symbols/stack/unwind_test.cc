// Stacks that are not plain calls: wild calls, deep recursion, handlers, exceptions, damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

using testing::ElementsAre;

constexpr char kProgram[] = R"(
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <stdexcept>
#define NOINLINE __attribute__((noinline))
typedef int (*Function)(int, long);
NOINLINE int CallWild(Function f, int k) { return f(k, 5) + 1; }
NOINLINE int Recurse(int n, char* q) { volatile char b[64]; b[0] = n; return Recurse(n + 1, q) + b[0]; }
void Handler(int signal, siginfo_t*, void*) { int* volatile p = nullptr; *p = signal; }
NOINLINE int Interrupted(int k) { raise(SIGUSR1); return k; }
NOINLINE int Aborts(int k) { if (k) abort(); return k; }
NOINLINE int Throws(int k) { if (k) throw std::runtime_error("no"); return k; }
static inline __attribute__((always_inline)) int Refuses(int k) { if (k) throw std::runtime_error("no"); return k; }
NOINLINE int Makes(int k) { return Refuses(k * 3) + 1; }
NOINLINE int Promises(int k) noexcept { return Throws(k + 2) + 1; }
NOINLINE int Length(const char* s, int extra) { return strlen(s) + extra; }
static inline __attribute__((always_inline)) int Sum(const char* s, int times) { int r = 0; for (int i = 0; i < times; i++) r += s[i]; return r; }
NOINLINE int Inliner(const char* text, int times) { return Sum(text, times) + Length(text, 1); }
NOINLINE int Reads(int* p) { return *p + 1; }
NOINLINE int TailCalls(int* p, int k) { return Reads(p + k); }
NOINLINE int CallsTail(int* p, int) { return TailCalls(p, 3) * 3; }
NOINLINE int Sums(int a, long b, short c, char d, int e, long f, int* g, int h) { return a + b + c + d + e + f + *g + h; }
ucontext_t waiting, running;
NOINLINE void InContext(int k) { if (Aborts(k)) raise(SIGUSR1); }
NOINLINE int MakesContext(int k) {
  static char stack[1 << 16];
  getcontext(&running);
  running.uc_stack.ss_sp = stack;
  running.uc_stack.ss_size = sizeof stack;
  running.uc_link = &waiting;
  makecontext(&running, (void (*)())InContext, 1, k);
  return swapcontext(&waiting, &running) + k;
}
int main(int argc, char** argv) {
  struct sigaction action {};
  action.sa_sigaction = Handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  const char* which = argv[1];
  if (!strcmp(which, "null")) return CallWild(nullptr, 3) + 1;
  if (!strcmp(which, "stack")) return CallWild((Function)argv, 3) + 1;
  if (!strcmp(which, "noncanonical")) return CallWild((Function)0x1234567812345678, 3) + 1;
  if (!strcmp(which, "recurse")) return Recurse(0, argv[0]) + 1;
  if (!strcmp(which, "handler")) return Interrupted(7) + 1;
  if (!strcmp(which, "context")) return MakesContext(argc + 1) + 1;
  if (!strcmp(which, "abort")) return Aborts(argc + 1) + 1;
  if (!strcmp(which, "throw")) return Throws(argc + 1) + 1;
  if (!strcmp(which, "inlined throw")) return Makes(argc + 1) + 1;
  if (!strcmp(which, "throw in main")) throw std::runtime_error("no");
  if (!strcmp(which, "noexcept")) { raise(SIGUSR2); return Promises(argc + 1) + 1; }
  if (!strcmp(which, "strlen")) return Length(nullptr, 2) + 1;
  if (!strcmp(which, "inline")) return Inliner(nullptr, argc + 2) + 1;
  if (!strcmp(which, "tail")) return CallsTail((int*)0x10, argc) + 1;
  return Sums(argc, 2, 3, 4, 5, 6, nullptr, 8) + 1;
}
)";

class Unwinding : public testing::TestWithParam<const char*> {
 protected:
  Unwinding() : fixture_(kProgram, Monitored(GetParam())) {}
  Backtrace Crash(const std::string& which) { return MustRead(report_ = fixture_.Crash({which})); }

  // As the client says it, which the fixture does without.
  Fixture fixture_;
  Report report_;
};

TEST_P(Unwinding, StepsOutOfACallThroughANullPointer) {
  for (const char* which : {"null", "stack"}) {
    const Backtrace backtrace = Crash(which);
    ASSERT_THAT(FunctionNames(backtrace), ElementsAre("", "CallWild", "main"));
    EXPECT_EQ(backtrace.frames[0].why_not, "its address is in no module");
    const Frame& frame = backtrace.frames[1];
    EXPECT_TRUE(frame.candidate) << frame.why_not;
    // Null proves nothing: another pointer may have been null too.
    EXPECT_EQ(frame.holds_bad_value, which == std::string("stack"));
    EXPECT_EQ(ValueOf(ParameterOf(frame, "k")), 3u);
    EXPECT_FALSE(backtrace.frames[2].holds_bad_value);
    EXPECT_EQ(backtrace.place.function, "_Z8CallWildPFiilEi");
  }
}

// The processor refuses the address before it jumps: pc is still the call.
TEST_P(Unwinding, KnowsABadValueWithoutFaultAddress) {
  const Backtrace backtrace = Crash("noncanonical");
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("CallWild", "main"));
  EXPECT_TRUE(backtrace.frames[0].holds_bad_value);
}

TEST_P(Unwinding, WalksAnOverflowedStackToItsEnd) {
  const Fixture& fixture = fixture_;
  SymbolOptions options;
  options.max_candidates = 120;
  const Backtrace backtrace = MustRead(fixture.Crash({"recurse"}), options);
  EXPECT_GT(backtrace.skipped, 20000u);
  // Beside the candidates only the start-up code, and the innermost where it died before its stores.
  ASSERT_GE(backtrace.frames.size(), 120u);
  ASSERT_LE(backtrace.frames.size(), 125u);
  // The innermost may have died before its stores: then its arguments are still in registers.
  for (const Frame& frame : backtrace.frames) {
    if (!frame.function.starts_with("Recurse")) continue;
    EXPECT_TRUE(frame.candidate) << frame.index << frame.why_not;
    EXPECT_TRUE(ParameterOf(frame, "q").rendered.ends_with("/program\"")) << ParameterOf(frame, "q").rendered;
  }
  size_t gap = 1;
  while (backtrace.frames[gap].index == gap) ++gap;
  const Frame& before = backtrace.frames[gap - 1];
  const Frame& after = backtrace.frames[gap];
  EXPECT_EQ(after.index, before.index + 1 + backtrace.skipped);
  const uint64_t depth = ValueOf(ParameterOf(backtrace.frames[0], "n"));
  EXPECT_EQ(ValueOf(ParameterOf(before, "n")), depth - (gap - 1));
  EXPECT_EQ(ValueOf(ParameterOf(after, "n")), depth - gap - backtrace.skipped);
  EXPECT_EQ(FunctionNames(backtrace).back(), "main");
}

// Its first function returns to libc's __start_context, which nothing called. rbp is that of who made the context.
TEST_P(Unwinding, EndsWhereAContextBegins) {
  const std::vector<std::string> names = FunctionNames(Crash("context"));
  EXPECT_THAT(names, testing::Contains("Aborts"));
  EXPECT_THAT(names, testing::Not(testing::Contains("MakesContext")));
  EXPECT_THAT(names, testing::Not(testing::Contains("main")));
}

// The interrupted function is at an instruction, not behind a call.
TEST_P(Unwinding, GoesThroughSignalHandlers) {
  const Backtrace backtrace = Crash("handler");
  EXPECT_EQ(backtrace.frames[0].function.substr(0, 8), "Handler(");
  EXPECT_TRUE(backtrace.frames[1].is_signal_frame);
  EXPECT_FALSE(backtrace.frames[1].candidate);
  const Frame& frame = FrameOf(backtrace, "Interrupted");
  EXPECT_TRUE(frame.candidate) << frame.why_not;
  EXPECT_EQ(ValueOf(ParameterOf(frame, "k")), 7u);
  EXPECT_EQ(backtrace.frames.back().function, "_start");
}

TEST_P(Unwinding, FindsThePlaceBehindTheLibrarysFrames) {
  for (const auto& [which, place] :
       {std::pair("abort", "_Z6Abortsi"), {"throw", "_Z6Throwsi"}, {"strlen", "_Z6LengthPKci"}}) {
    const Backtrace backtrace = Crash(which);
    EXPECT_EQ(backtrace.place.function, place);
    EXPECT_TRUE(backtrace.place.file.ends_with("/program.cc"));
    EXPECT_GT(backtrace.place.line, 0u);
    EXPECT_GE(backtrace.place.pc, backtrace.place.function_start);
    EXPECT_LE(backtrace.place.pc.value, backtrace.place.function_start.value + backtrace.place.function_size);
    EXPECT_FALSE(backtrace.frames[0].own);
    EXPECT_FALSE(backtrace.frames[0].candidate);
  }
}

// `noexcept` has unwound Throws when the program aborts; the copy of the stack made at the throw brings it back.
TEST_P(Unwinding, StartsAtTheThrowWhenNoexceptUnwound) {
  Report report = fixture_.CrashWithThrow({"noexcept"});
  const std::optional<ThrownStack> thrown = std::move(report.thrown);
  ASSERT_TRUE(thrown);
  report.thrown.reset();
  report.failure.kind = FailureKind::kException;
  const std::vector<std::string> without = FunctionNames(MustRead(report));
  EXPECT_EQ(std::count(without.begin(), without.end(), "Throws"), 0);

  report.thrown = thrown;
  const Backtrace backtrace = MustRead(report);
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Throws", "Promises", "main"));
  EXPECT_TRUE(backtrace.frames[0].candidate) << backtrace.frames[0].why_not;
  EXPECT_EQ(ValueOf(ParameterOf(backtrace.frames[0], "k")), 5u);
  EXPECT_EQ(ValueOf(ParameterOf(backtrace.frames[1], "k")), 3u);
  EXPECT_EQ(backtrace.place.function, "_Z6Throwsi");
  // Why it threw is not known.
  EXPECT_FALSE(backtrace.frames[0].holds_bad_value);
}

TEST_P(Unwinding, ShowsInlinedCallsWithTheirArguments) {
  const Backtrace backtrace = Crash("inline");
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("[Sum]", "Inliner", "main"));
  const Frame& inlined = backtrace.frames[0];
  EXPECT_FALSE(inlined.candidate);
  EXPECT_EQ(inlined.why_not, "it is inlined into its caller, and the program has no copy of it");
  EXPECT_EQ(inlined.entry.value, 0u);
  EXPECT_GE(inlined.inlined_at, backtrace.frames[1].entry);
  EXPECT_LT(inlined.entry_sp, backtrace.frames[1].entry_sp);
  EXPECT_EQ(ValueOf(ParameterOf(inlined, "times")), 4u);
  EXPECT_EQ(ParameterOf(inlined, "s").rendered, "nullptr");
  EXPECT_EQ(backtrace.frames[1].line, inlined.declared_line + 1);  // where Sum was called
  EXPECT_EQ(backtrace.place.line, inlined.line);
  EXPECT_EQ(backtrace.place.function, "_Z7InlinerPKci");
}

TEST_P(Unwinding, GivesArgumentsOnTheStack) {
  const Backtrace backtrace = Crash("sums");
  const Frame& frame = FrameOf(backtrace, "Sums(");
  EXPECT_TRUE(frame.candidate) << frame.why_not;
  const uint64_t expected[] = {2, 2, 3, 4, 5, 6, 0, 8};
  for (size_t i = 0; i < 8; ++i) {
    if (frame.parameters[i].complete) EXPECT_EQ(ValueOf(frame.parameters[i]), expected[i]) << i;
  }
  EXPECT_TRUE(frame.parameters[6].complete);
}

// Memory that the report's limit left out: the frames up to there, and a sentence.
TEST_P(Unwinding, StopsWhereTheStackWasNotKept) {
  Report report = fixture_.Crash({"handler"});
  const uint64_t sp = report.threads[0].registers.sp();
  for (Region& region : report.memory)
    if (sp >= region.address.value && sp < region.address.value + region.bytes.size())
      region.bytes.resize(sp - region.address.value + 64);
  const Backtrace backtrace = MustRead(report);
  ASSERT_FALSE(backtrace.frames.empty());
  EXPECT_EQ(backtrace.frames[0].function.substr(0, 8), "Handler(");
  EXPECT_LT(backtrace.frames.size(), 6u);
  ASSERT_FALSE(backtrace.notes.empty());
  EXPECT_TRUE(backtrace.notes.back().starts_with("unwinding stopped: ")) << backtrace.notes.back();
}

// Anything may stand on a smashed stack: no endless walk, no crash.
TEST_P(Unwinding, EndsOnASmashedStack) {
  Report report = fixture_.Crash({"recurse"});
  const uint64_t sp = report.threads[0].registers.sp();
  uint32_t state = 1;
  for (Region& region : report.memory) {
    if (sp + 4096 < region.address.value || sp + 4096 >= region.address.value + region.bytes.size()) continue;
    for (uint8_t& byte : region.bytes) byte = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
    // A frame whose return address leads back into Recurse, for ever.
    for (size_t i = 0; i + 8 <= region.bytes.size(); i += 8)
      if (i % 5 != 0) std::memcpy(&region.bytes[i], &report.failure.pc, 8);
  }
  const Backtrace backtrace = MustRead(report);
  EXPECT_FALSE(backtrace.frames.empty());
}

INSTANTIATE_TEST_SUITE_P(Builds, Unwinding,
                         testing::Values("-O2 -g", "-O2 -g -no-pie -fno-pie", "-O1 -g -fno-omit-frame-pointer"));

TEST(TailCall, LeavesNoFrameAndNoWrongArguments) {
  const Fixture fixture(kProgram, "-O2 -g");
  const Backtrace backtrace = MustRead(fixture.Crash({"tail"}));
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Reads", "CallsTail", "main"));
  // The call site in CallsTail is of TailCalls, whose first argument is another: its value is not taken for Reads' own.
  const Parameter& p = ParameterOf(backtrace.frames[0], "p");
  if (p.complete) EXPECT_EQ(ValueOf(p), 0x1cu);
}

}  // namespace
}  // namespace recrash
