// A function that is gone in another build: what has become of it is called, where that is certain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;

// Middle is what becomes something else. Inner fails on the null pointer that it was given.
std::string Source(const std::string& middle, const std::string& call, const std::string& more = "",
                   const std::string& guard = "") {
  return "#define NOINLINE __attribute__((noinline))\n"
         "struct Order { int id; const int* cell; };\n"
         "NOINLINE int Inner(const int* cell) { " +
         guard + " return *cell + 1; }\n" + more + middle + "NOINLINE int Outer(const Order& order) { return " + call +
         " * 2; }\n"
         "int main(int argc, char**) { Order order = {argc, nullptr}; return Outer(order); }\n";
}

const std::string kBody = " { return Inner(order.cell) + id; }\n";
const std::string kMiddle = "NOINLINE int Middle(const Order& order, int id)" + kBody;
const std::string kCall = "Middle(order, order.id)";

class Successor : public ::testing::Test {
 protected:
  static constexpr char kFlags[] = "-O2 -g";

  FrameVerdict In(const std::string& source) {
    VerifyOptions options;
    options.program = program_.Rebuild(source, kFlags);
    return program_.Verify("Middle", options);
  }

  ReplayedProgram program_{Source(kMiddle, kCall), kFlags};
};

TEST_F(Successor, IsCalledWhereAFunctionWasRenamed) {
  const std::string renamed = "NOINLINE int Weigh(const Order& order, int id)" + kBody;
  FrameVerdict verdict = In(Source(renamed, "Weigh(order, order.id)"));
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program_.text();
  EXPECT_THAT(verdict.note, HasSubstr("(calls Weigh in place of Middle(Order const&, int))"));
  verdict = In(Source(renamed, "Weigh(order, order.id)", "", "if (!cell) return 0;"));
  EXPECT_EQ(verdict.verdict, Verdict::kReturned) << program_.text();
}

TEST_F(Successor, IsCalledWhereAFunctionMovedIntoANamespace) {
  const std::string moved = "namespace shop { " + kMiddle + "}\n";
  EXPECT_EQ(In(Source(moved, "shop::" + kCall)).verdict, Verdict::kReproduced) << program_.text();
}

// Nobody knows what callers pass for it: a return proves nothing.
TEST_F(Successor, WithOneParameterMoreShowsTheRecordedFailureOnly) {
  const std::string more =
      "NOINLINE int Middle(const Order& order, int id, bool strict)"
      " { if (strict) return id; return Inner(order.cell) + id; }\n";
  EXPECT_EQ(In(Source(more, "Middle(order, order.id, order.id > 1)")).verdict, Verdict::kReproduced) << program_.text();
  const FrameVerdict fixed = In(Source(more, "Middle(order, order.id, order.id > 1)", "", "if (!cell) return 0;"));
  EXPECT_EQ(fixed.verdict, Verdict::kMissing) << program_.text();
  EXPECT_THAT(fixed.note, HasSubstr("does not have a value of `strict`"));
}

// What the failing function calls says nothing about it.
TEST_F(Successor, OfTheFailingFunctionIsNamedOnly) {
  VerifyOptions options;
  std::string source = Source(kMiddle, kCall);
  for (size_t at = 0; (at = source.find("Inner", at)) != std::string::npos; at += 5) source.replace(at, 5, "Value");
  options.program = program_.Rebuild(source, kFlags);
  const FrameVerdict verdict = program_.Verify("Inner", options);
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program_.text();
  EXPECT_THAT(verdict.note, HasSubstr("it may be Value"));
}

// The function is gone, and its caller calls another one with the same parameters, which was there before.
TEST_F(Successor, IsNoFunctionThatWasThereBefore) {
  for (const char* inlined : {"NOINLINE ", "__attribute__((always_inline)) inline "}) {
    const std::string count = "int Count(const Order& order, int id) { return order.id + id; }\n";
    const std::string both = kCall + " + Count(order, order.id)";
    ReplayedProgram program(Source(kMiddle, both, inlined + count), kFlags);
    VerifyOptions options;
    options.program = program.Rebuild(Source("", "Count(order, order.id)", "NOINLINE " + count), kFlags);
    EXPECT_EQ(program.Verify("Middle", options).verdict, Verdict::kCannotReplay) << inlined << program.text();
  }
}

TEST_F(Successor, IsNoFunctionThatNothingSpeaksFor) {
  const std::string other = "NOINLINE int Count(const Order& order, int id) { return order.id + id; }\n";
  const FrameVerdict verdict = In(Source(other, "(order.id > 9 ? 1 : 2)", "", "") +
                                  "int Other(const Order& order) { return Count(order, 1); }\n");
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program_.text();
  EXPECT_THAT(verdict.note, HasSubstr("it may be Count"));
}

TEST_F(Successor, IsNotOneOfSeveral) {
  const std::string two = "NOINLINE int Weigh(const Order& order, int id)" + kBody +
                          "NOINLINE int Count(const Order& order, int id) { return Inner(order.cell) - id; }\n";
  const FrameVerdict verdict = In(Source(two, "Weigh(order, order.id) + Count(order, 1)"));
  EXPECT_EQ(verdict.verdict, Verdict::kCannotReplay) << program_.text();
  EXPECT_THAT(verdict.note, HasSubstr("it may be Count, or Weigh"));
}

TEST_F(Successor, HasTheSameTypes) {
  const std::string other = "NOINLINE int Weigh(const Order& order, long id)" + kBody;
  EXPECT_EQ(In(Source(other, "Weigh(order, order.id)")).verdict, Verdict::kCannotReplay) << program_.text();
}

}  // namespace
}  // namespace recrash
