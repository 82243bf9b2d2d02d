// What the collector finds of code that changed while a real program ran.
#include "agent/collector/code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

bool Keeps(const Report& report, TargetAddress address) {
  return std::ranges::any_of(report.code.kept, [&](const Region& region) {
    return address >= region.address && address < region.address + region.bytes.size();
  });
}

TEST(CodeInMemory, OfABitThatFlippedIsSaid) {
  const Ran ran = Program::Failing("flip-code").Run();
  const CodeInMemory code = ran.OnlyReport().code;
  EXPECT_THAT(code.flipped, ElementsAre(Field(&FlippedByte::address, ran.address())));
  ASSERT_EQ(code.flipped.size(), 1u);
  EXPECT_EQ(code.flipped[0].in_file ^ code.flipped[0].in_memory, 1);
  EXPECT_EQ(code.changed, 0u);
}

TEST(CodeInMemory, OfAPatchIsCounted) {
  const CodeInMemory code = Program::Failing("patch-code").Run().OnlyReport().code;
  EXPECT_THAT(code.flipped, IsEmpty());
  EXPECT_EQ(code.changed, 5u);
}

TEST(CodeInMemory, ThatNobodyChangedIsAsInItsFiles) {
  for (const char* failure : {"segv", "abort", "thread", "throw", "overflow", "ruin", "throw-in-library"}) {
    const CodeInMemory code = Program::Failing(failure).Run().OnlyReport().code;
    EXPECT_THAT(code.flipped, IsEmpty()) << failure;
    EXPECT_EQ(code.changed, 0u) << failure;
  }
}

TEST(CodeInMemory, AroundTheFailureIsKept) {
  const Report report = Program::Failing("segv").Run().OnlyReport();
  EXPECT_TRUE(Keeps(report, report.failure.pc));
  EXPECT_TRUE(Keeps(report, report.failure.pc - 100));
  EXPECT_GE(report.code.kept.size(), 4u);
  uint64_t size = 0;
  for (const Region& region : report.code.kept) size += region.bytes.size();
  EXPECT_LE(size, 2048u);
}

TEST(CodeInMemory, AroundTheFailureIsKeptWithoutACollector) {
  const Ran ran = Program::Failing("segv").With("RECRASH_COLLECTOR", "/nonexistent").Run();
  const Report report = ran.OnlyReport(".rcraw");
  ASSERT_EQ(report.code.kept.size(), 1u);
  EXPECT_TRUE(Keeps(report, report.failure.pc));
  EXPECT_EQ(report.code.kept[0].bytes, Program::Failing("segv").Run().OnlyReport().code.kept[0].bytes);
}

}  // namespace
}  // namespace recrash
