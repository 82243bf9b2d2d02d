#include <gtest/gtest.h>

#include "agent/client/client.h"

namespace recrash::client {
namespace {

using signal_safe::Text;

const char* Readable(const char* mangled) {
  static char buffer[512];
  Text text(buffer);
  PutTypeName(text, mangled);
  return buffer;
}

TEST(TypeName, OfPlainClassesIsReadable) {
  EXPECT_STREQ(Readable("St13runtime_error"), "std::runtime_error");
  EXPECT_STREQ(Readable("5Error"), "Error");
  EXPECT_STREQ(Readable("N2db5ErrorE"), "db::Error");
  EXPECT_STREQ(Readable("NSt10filesystem16filesystem_errorE"), "std::filesystem::filesystem_error");
  EXPECT_STREQ(Readable("N12_GLOBAL__N_15ErrorE"), "(anonymous namespace)::Error");
  EXPECT_STREQ(Readable("i"), "int");
}

// What it does not know it gives as it came.
TEST(TypeName, OfAnythingElseStaysMangled) {
  for (const char* mangled : {"", "PKc", "3BoxIiE", "N2db3BoxIiEE", "Z4mainE5Local", "99short", "N2db5Error", "St"})
    EXPECT_STREQ(Readable(mangled), mangled);
}

// The text class cuts at the buffer's end and always ends in NUL.
TEST(Text, CutsAtItsBuffersEnd) {
  char buffer[8];
  Text text(buffer);
  (text << "abc").Decimal(1234567) << "x";
  EXPECT_STREQ(buffer, "abc1234");
  EXPECT_TRUE(text.full());
}

TEST(Text, PadsAndCountsInBases) {
  char buffer[64];
  Text text(buffer);
  text.Decimal(7, 2).Hex(0xbeef) << ".";
  text.Decimal(UINT64_MAX);
  EXPECT_STREQ(buffer, "07beef.18446744073709551615");
}

}  // namespace
}  // namespace recrash::client
