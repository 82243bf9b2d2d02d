#include "agent/store/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/store/stack_walk.h"
#include "agent/store/testing_own_stack.h"

namespace recrash {
namespace {

__attribute__((noinline)) Report Here() {
  Report report;
  TakeOwnStack(&report);
  return report;
}

__attribute__((noinline)) Report Deep(int depth) {
  Report report = depth > 0 ? Deep(depth - 1) : Here();
  asm volatile("" ::: "memory");  // no tail call
  return report;
}

__attribute__((noinline)) Report Other() {
  Report report = Here();
  asm volatile("" ::: "memory");
  return report;
}

TEST(Signature, IsOf32Digits) { EXPECT_THAT(SignatureOf(Here()), testing::MatchesRegex("[0-9a-f]{32}")); }

TEST(Signature, IsOfThePlacesOnTheStack) {
  std::vector<std::string> same;
#pragma clang loop unroll(disable)  // else it would be two places
  for (int i = 0; i < 2; ++i) same.push_back(SignatureOf(Other()));
  EXPECT_EQ(same[0], same[1]);
  EXPECT_NE(SignatureOf(Here()), same[0]);   // another caller
  EXPECT_NE(SignatureOf(Other()), same[0]);  // another call
}

TEST(Signature, IsNotOfTheDepthOfARecursion) {
  std::vector<std::string> same;
  for (const int depth : {2, 3, 900}) same.push_back(SignatureOf(Deep(depth)));
  EXPECT_THAT(same, testing::Each(same[0]));
}

// As in another process: everything lies elsewhere.
TEST(Signature, IsNotOfAddresses) {
  Report report = Other();
  const std::string here = SignatureOf(report);
  constexpr uint64_t kMoved = 0x10000;
  const auto move = [&](uint64_t* word) {
    if (report.FindModule({*word}) != nullptr) *word += kMoved;
  };
  uint64_t* stack = reinterpret_cast<uint64_t*>(report.memory[0].bytes.data());
  for (size_t i = 0; i < report.memory[0].bytes.size() / sizeof *stack; ++i) move(stack + i);
  move(&report.threads[0].registers.dwarf[16]);
  for (Module& module : report.modules) {
    module.base.value += kMoved;
    module.bias += kMoved;
  }
  EXPECT_EQ(SignatureOf(report), here);
}

TEST(Signature, IsOfTheBuildAndOfTheFailure) {
  const Report report = Here();
  const std::string here = SignatureOf(report);
  Report changed = report;
  std::ranges::find_if(changed.modules, &Module::is_program)->build_id = std::string(40, 'a');
  EXPECT_NE(SignatureOf(changed), here);
  changed = report;
  changed.failure.signal = SIGBUS;
  EXPECT_NE(SignatureOf(changed), here);
  changed.failure.kind = FailureKind::kReported;
  EXPECT_NE(SignatureOf(changed), here);
}

TEST(Signature, OfACallToNowhereHasItsCaller) {
  Report report = Other();
  Registers& registers = report.threads[0].registers;
  const WalkedFrame caller = WalkStack(report, 2).frames.at(1);
  const uint64_t pushed = caller.address + caller.module->bias;
  std::vector<uint8_t>& stack = report.memory[0].bytes;
  for (int i = 0; i < 8; ++i) stack[static_cast<size_t>(i)] = static_cast<uint8_t>(pushed >> 8 * i);
  registers.dwarf[16] = 0;
  EXPECT_EQ(WalkStack(report, 1).frames.at(0), caller);
}

// All failures that end in abort() look alike where their stack is not known.
TEST(Signature, IsNotKnownOfALibraryWithoutItsCallers) {
  Report report = Here();
  report.memory.clear();
  EXPECT_NE(SignatureOf(report), "");  // in the program itself
  report.threads[0].registers.dwarf[16] = reinterpret_cast<uint64_t>(&abort);
  ASSERT_FALSE(report.FindModule({report.threads[0].registers.pc()})->is_program);
  EXPECT_EQ(SignatureOf(report), "");
  EXPECT_EQ(SignatureOf(Report()), "");
}

// Where little memory was left to hold it.
TEST(Signature, IsKnownIfTheStackIsElsewhere) {
  const Report whole = Other();
  Report report = whole;
  report.memory.clear();
  EXPECT_NE(SignatureOf(report), SignatureOf(whole));
  EXPECT_EQ(SignatureOf(report, [&](TargetAddress address) { return whole.ReadWord(address); }), SignatureOf(whole));
}

TEST(StackWalk, EndsAtTheOutermostFrame) {
  const WalkedStack stack = WalkStack(Here(), 1000);
  EXPECT_TRUE(stack.is_whole);
  EXPECT_GE(stack.frames.size(), 8u);
  EXPECT_FALSE(WalkStack(Report(), 1000).is_whole);
}

// A stack that leads in a circle ends the walk, and so does one that goes on for ever.
TEST(StackWalk, OfNonsenseEnds) {
  Report report = Here();
  report.threads[0].registers.dwarf[6] = report.threads[0].registers.dwarf[7];
  std::ranges::fill(report.memory[0].bytes, 0);
  EXPECT_LE(WalkStack(report, 1000).frames.size(), 2u);
  report.threads[0].registers.dwarf[7] = UINT64_MAX - 3;
  EXPECT_LE(WalkStack(report, 1000).frames.size(), 1u);
}

}  // namespace
}  // namespace recrash
