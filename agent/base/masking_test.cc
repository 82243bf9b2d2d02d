#include "agent/base/signal_safe/masking.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace recrash::signal_safe {
namespace {

std::string Masked(const std::vector<std::string>& values, std::string text) {
  size_t bytes = 0;
  for (const std::string& value : values) bytes += value.size();
  std::vector<uint64_t> slots(Masker::SlotsFor(bytes));
  Masker masker(slots.data(), slots.size());
  for (const std::string& value : values) masker.Add(reinterpret_cast<const uint8_t*>(value.data()), value.size());
  masker.Mask(reinterpret_cast<uint8_t*>(text.data()), text.size());
  return text;
}

TEST(Masker, MasksEachOccurrence) {
  EXPECT_EQ(Masked({"hunter2!"}, "a hunter2! and hunter2!"), "a ******** and ********");
  EXPECT_EQ(Masked({"hunter2!"}, "hunter2!"), "********");
  EXPECT_EQ(Masked({"hunter2!"}, "hunter2"), "hunter2");
  EXPECT_EQ(Masked({"hunter2!", "swordfish"}, "xhunter2!swordfish"), "x*****************");
}

// The last bytes of a value beside its first ones: they hold each other's windows.
TEST(Masker, MasksOccurrencesThatOverlap) {
  EXPECT_EQ(Masked({"abcabcabc"}, "xabcabcabcabcx"), "x************x");
  EXPECT_EQ(Masked({"aaaaaaaa"}, "baaaaaaaaaab"), "b**********b");
}

TEST(Masker, MasksPartsOfEightBytes) { EXPECT_EQ(Masked({"correct horse battery"}, ">t horse b<"), ">*********<"); }

TEST(Masker, LeavesSmallNumbersAlone) {
  const std::string number("\1\0\0\0\0\0\0\0", 8), minus(8, '\xff'), buffer("hunter2!\0\0\0\0\0\0\0\0", 16);
  EXPECT_EQ(Masked({number, minus}, number + minus), number + minus);
  EXPECT_EQ(Masked({buffer}, std::string(16, '\0')), std::string(16, '\0'));
  EXPECT_EQ(Masked({buffer}, buffer), "********" + std::string(8, '\0'));
}

TEST(Masker, KeepsValuesThatEndInAZero) {
  const std::string key("\1\2\3\4\5\6\7\0", 8);
  EXPECT_EQ(Masked({key}, "x" + key + "x"), "x********x");
}

}  // namespace
}  // namespace recrash::signal_safe
