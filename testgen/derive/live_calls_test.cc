#include "testgen/derive/live_calls.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

constexpr uint64_t kMain = 0x1000;
constexpr uint64_t kVisit = 0x2000;
constexpr uint64_t kPrint = 0x3000;

// main calls visit three times; the last one calls itself. Only the first of the live ones is the outer frame.
TEST(LiveCalls, AreThoseThatNoLaterEntryShowsToHaveReturned) {
  LiveCalls calls;
  calls.Enter(kMain, 0x7000);
  for (int i = 0; i < 3; ++i) calls.Enter(kVisit, 0x6f00);
  calls.Enter(kVisit, 0x6e00);
  ASSERT_EQ(calls.live().size(), 3u);
  EXPECT_EQ(calls.FromOutside(kVisit, 1).number, 3u);
  EXPECT_EQ(calls.FromOutside(kVisit, 1).sp, 0x6f00u);
  EXPECT_EQ(calls.FromOutside(kVisit, 2).number, 4u);
  EXPECT_EQ(calls.FromOutside(kVisit, 3).number, 0u);
}

// The inner call of visit has returned when the outer one calls print.
TEST(LiveCalls, AreWithoutThoseThatReturnedBeforeALaterEntry) {
  LiveCalls calls;
  calls.Enter(kMain, 0x7000);
  calls.Enter(kVisit, 0x6f00);
  calls.Enter(kVisit, 0x6e00);
  calls.Enter(kPrint, 0x6e80);  // called by the outer visit, after the inner one
  EXPECT_EQ(calls.FromOutside(kVisit, 1).number, 1u);
  EXPECT_EQ(calls.FromOutside(kVisit, 2).number, 0u);
  EXPECT_EQ(calls.FromOutside(kPrint, 1).sp, 0x6e80u);
}

}  // namespace
}  // namespace recrash
