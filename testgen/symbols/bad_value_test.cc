// Which frames are said to hold the value that crashes: those of which it is certain, in optimised code and other.
#include "testgen/symbols/bad_value.h"

#include <gtest/gtest.h>

#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

constexpr char kProgram[] = R"(
#include <cstdlib>
#include <cstring>
#define NOINLINE __attribute__((noinline))
struct Node { int key; Node* next; };
int sink;
NOINLINE int Read(int first, const Node* node) { sink = first; return node->key + first; }
NOINLINE int Outer(const Node* node) { return Read(1, node) + 1; }
// The argument `out` is null by default. What crashes is a member.
NOINLINE int Member(const Node* node, int* out = nullptr) {
  if (out) *out = 1;
  return node->next->key + 1;
}
NOINLINE int Length(const char* text, const char* other) { sink = other != nullptr; return strlen(text) + 1; }
int main(int argc, char** argv) {
  const char* which = argv[1];
  Node node = {1, nullptr};
  if (!strcmp(which, "null")) return Outer(nullptr);
  if (!strcmp(which, "wild")) return 1 + Outer((Node*)0x123456789000);
  if (!strcmp(which, "text")) return 1 + Outer((Node*)0x6c61763d656d616e);
  if (!strcmp(which, "member")) return Member(&node);
  if (!strcmp(which, "library")) return Length((char*)0x123456789000, nullptr);
  if (!strcmp(which, "library-null")) return Length(nullptr, nullptr);
}
)";

class BadValue : public ::testing::TestWithParam<const char*> {
 protected:
  Backtrace Crash(const char* which) { return MustRead(fixture_.Crash({which})); }
  bool Holds(const char* which, const char* function) {
    return FrameOf(Crash(which), std::string(function) + "(").holds_bad_value;
  }
  Fixture fixture_{kProgram, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Levels, BadValue, ::testing::Values("-O0 -g", "-O2 -g"),
                         [](const auto& level) { return std::string(level.param).substr(1, 2); });

// The failing instruction has its address from the argument. That a caller had the same null is no proof.
TEST_P(BadValue, IsANullThatTheInstructionUsed) {
  EXPECT_TRUE(Holds("null", "Read"));
  EXPECT_FALSE(Holds("null", "Outer"));
}

// No two bad addresses are alike by chance.
TEST_P(BadValue, IsAnAddressThatAllFramesHave) {
  for (const char* which : {"wild", "text"}) {
    EXPECT_TRUE(Holds(which, "Read")) << which;
    const Backtrace backtrace = Crash(which);
    EXPECT_FALSE(FrameOf(backtrace, "main").holds_bad_value) << which;
    const Frame& outer = FrameOf(backtrace, "Outer(");
    // Optimised code has lost the argument of the outer frame.
    EXPECT_EQ(outer.holds_bad_value, outer.parameters[0].complete) << which;
    EXPECT_TRUE(outer.holds_bad_value || GetParam() != std::string("-O0 -g")) << which;
  }
  EXPECT_TRUE(Holds("library", "Length"));
}

TEST_P(BadValue, IsNoNullThatTheFunctionTakesWell) {
  EXPECT_FALSE(Holds("member", "Member"));
  EXPECT_FALSE(Holds("library-null", "Length"));
}

}  // namespace
}  // namespace recrash
