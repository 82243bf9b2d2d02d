// Frames of functions that were inlined: a copy of the function out of line is called.
#include <gtest/gtest.h>

#include <algorithm>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

constexpr char kHead[] = R"(
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#define NOINLINE __attribute__((noinline))
#define INLINED __attribute__((always_inline))
)";

class Inlined : public ReplayedProgram {
 public:
  explicit Inlined(const std::string& source, const std::string& flags = "-O2 -g")
      : ReplayedProgram(kHead + source, flags) {}

  const ReplayFrame* Find(const std::string& function) const {
    const auto found = std::ranges::find_if(
        report().replay.frames, [&](const ReplayFrame& frame) { return frame.function.starts_with(function); });
    return found == report().replay.frames.end() ? nullptr : &*found;
  }

  // The frame of the function is inlined, has a copy, and reproduces.
  void ExpectReproduced(const std::string& function) const {
    const ReplayFrame* frame = Find(function);
    ASSERT_NE(frame, nullptr) << function << " is no candidate";
    EXPECT_NE(frame->inlined_at.value, 0u) << function << " is not inlined";
    EXPECT_EQ(Verify(function).verdict, Verdict::kReproduced) << text();
  }
};

// The failing instruction is in main; the test of At dies in At itself.
TEST(InlinedFrames, CallACopyOutOfLine) {
  const Inlined program(R"(
    INLINED int At(const int* values, long index) { return values[index]; }
    int main(int argc, char**) { volatile long none = argc - 1; return At(reinterpret_cast<int*>(none), 4); }
  )");
  program.ExpectReproduced("At(");
  ASSERT_EQ(program.report().replay.place.function, "main");
  EXPECT_FALSE(program.report().replay.place.copies.empty());
}

// Without the ranges of the copies, nothing but main's own instruction counts.
TEST(InlinedFrames, DoNotReproduceAtAnotherLine) {
  Inlined program(R"(
    INLINED int At(const int* values, long index) { return values[index]; }
    int main(int argc, char**) { volatile long none = argc - 1; return At(reinterpret_cast<int*>(none), 4); }
  )");
  program.report().replay.place.copies.clear();
  EXPECT_EQ(program.Verify("At(").verdict, Verdict::kDifferentFailure) << program.text();
}

// The copy's stack lies below the locals of the function around, which its arguments refer to.
TEST(InlinedFrames, FindLocalsOfTheFunctionAround) {
  const Inlined program(R"(
    struct Node { Node* next; long value; };
    NOINLINE void Fill(Node* nodes) { for (int i = 0; i < 4; ++i) nodes[i] = {nodes + i + 1, i}; nodes[3].next = reinterpret_cast<Node*>(8); }
    INLINED long Last(const Node& first, const long& limit) {
      const Node* node = &first;
      char room[512];
      memset(room, 1, sizeof room);
      asm volatile("" : : "r"(room) : "memory");
      long sum = 0;
      for (long i = 0; i < limit; ++i, node = node->next) sum += node->value;
      return sum;
    }
    NOINLINE void Set(long* limit) { *limit = 9; }
    NOINLINE long Around() { Node nodes[4]; long limit; Fill(nodes); Set(&limit); return Last(nodes[0], limit) + nodes[1].value; }
    int main() { return static_cast<int>(Around()); }
  )");
  program.ExpectReproduced("Last(");
}

constexpr char kWithoutCopy[] = R"(
  namespace { inline long At(const long* values, long index) { return values[index] + 1; } }
  NOINLINE long Around(const long* values, long index) { return At(values, index) * 2; }
  const long* volatile none;
  int main(int argc, char**) { return static_cast<int>(Around(none, argc)); }
)";

// A frame whose function the program has nowhere out of line.
class InTwin : public Inlined {
 public:
  InTwin() : Inlined(kWithoutCopy) {
    const Backtrace backtrace = MustRead(report());
    const Frame& frame = FrameOf(backtrace, "(anonymous namespace)::At");
    EXPECT_TRUE(frame.twin_candidate) << frame.why_not;
    report().replay.frames.insert(report().replay.frames.begin(), MakeReplayFrame(frame));
    options.twin = Rebuild(std::string(kHead) + kWithoutCopy, "-O0 -fno-inline -g");
  }

  FrameVerdict VerifyAt() const { return Verify("(anonymous namespace)::At", options); }

  VerifyOptions options;
};

TEST(InlinedFrames, RunInATwinIfTheProgramHasNoCopy) {
  const InTwin program;
  EXPECT_EQ(program.VerifyAt().verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("Around", program.options).verdict, Verdict::kReproduced) << program.text();
}

TEST(InlinedFrames, AreNotReplayedWithoutATwin) {
  InTwin program;
  program.options.twin.clear();
  const FrameVerdict verdict = program.VerifyAt();
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program.text();
  EXPECT_EQ(verdict.note, "its function is inlined in this build: run it in a twin");
}

// Nothing points to the closure any more: its captures are those of the variable of its type.
TEST(InlinedFrames, OfALambdaGetItsCaptures) {
  constexpr char kLambda[] = R"(
    NOINLINE long Around(const long* values, long index) {
      const auto at = [values](long i) { return values[i] + 1; };
      return at(index) * 2;
    }
    const long* volatile none;
    int main(int argc, char**) { return static_cast<int>(Around(none, argc)); }
  )";
  Inlined program(kLambda);
  const Backtrace backtrace = MustRead(program.report());
  const Frame& frame = FrameOf(backtrace, "Around(long const*, long)::");
  ASSERT_TRUE(frame.twin_candidate) << frame.why_not;
  program.report().replay.frames.insert(program.report().replay.frames.begin(), MakeReplayFrame(frame));
  VerifyOptions options;
  options.twin = program.Rebuild(std::string(kHead) + kLambda, "-O0 -fno-inline -g");
  EXPECT_EQ(program.Verify("Around(long const*, long)::", options).verdict, Verdict::kReproduced) << program.text();
}

}  // namespace
}  // namespace recrash
