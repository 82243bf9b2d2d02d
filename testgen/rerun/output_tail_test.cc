#include "testgen/rerun/output_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace recrash {
namespace {

using ::testing::EndsWith;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(OutputTail, HasAllOfALittle) {
  OutputTail output;
  dprintf(output.descriptor(), "one\ntwo\n");
  EXPECT_EQ(output.Take(), "one\ntwo\n");
  EXPECT_EQ(output.Take(), "");
}

TEST(OutputTail, HasTheLastWholeLinesOfMuch) {
  OutputTail output;
  for (int i = 0; i < 100000; ++i) dprintf(output.descriptor(), "line %d\n", i);
  const std::string text = output.Take();
  EXPECT_THAT(text, StartsWith("line "));
  EXPECT_THAT(text, EndsWith("\nline 99999\n"));
  EXPECT_THAT(text, SizeIs(testing::Lt(2000u)));
}

// A process that the program has left behind holds the pipe.
TEST(OutputTail, WaitsForNobody) {
  OutputTail output;
  const int kept = dup(output.descriptor());
  dprintf(kept, "said");
  EXPECT_EQ(output.Take(), "said");
  close(kept);
}

}  // namespace
}  // namespace recrash
