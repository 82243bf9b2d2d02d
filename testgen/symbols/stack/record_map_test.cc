#include "testgen/symbols/stack/record_map.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

namespace recrash {
namespace {

// A section as the assembler leaves it.
class MapWriter {
 public:
  MapWriter& Add(uint64_t label, uint64_t hash, const std::string& operand, std::vector<abi::MapWord> words = {}) {
    const size_t start = bytes_.size();
    abi::MapEntry entry{};
    entry.label = label;
    entry.version = abi::kMapVersion;
    entry.word_count = static_cast<uint8_t>(words.size());
    entry.function_hash = hash;
    Append(&entry, abi::kMapEntrySize);
    for (const abi::MapWord& word : words) Append(&word, sizeof(word));
    Append(operand.c_str(), operand.size() + 1);
    while (bytes_.size() % 4 != 0) bytes_.push_back(0);
    const auto size = static_cast<uint16_t>(bytes_.size() - start);
    std::memcpy(bytes_.data() + start + offsetof(abi::MapEntry, size), &size, sizeof(size));
    return *this;
  }
  MapWriter& Pad(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  RecordMap Read() const { return RecordMap(bytes_); }
  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  void Append(const void* data, size_t size) {
    const auto* first = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  std::vector<uint8_t> bytes_;
};

abi::MapWord Word(uint8_t parameter) {
  abi::MapWord word{};
  word.kind = static_cast<uint8_t>(abi::WordKind::kArgument);
  word.parameter = parameter;
  word.size = 8;
  return word;
}

TEST(Operand, IsARegisterWithOrWithoutAnOffset) {
  const auto check = [](std::string_view text, int base, int64_t offset) {
    const auto operand = ParseOperand(text);
    ASSERT_TRUE(operand) << text;
    EXPECT_EQ(operand->base, base) << text;
    EXPECT_EQ(operand->offset, offset) << text;
  };
  check("8(%rsp)", 7, 8);
  check("-56(%rbp)", 6, -56);
  check("(%rsp)", 7, 0);
  check("16(%rbx)", 3, 16);
  check("0x10(%r12)", 12, 16);
  check("-0x8(%rbp)", 6, -8);
  check("%rsp", 7, 0);
  check("4096(%rsp)", 7, 4096);
}

TEST(Operand, IsNothingElse) {
  for (const char* text :
       {"", "(", ")", "()", "8", "8()", "8(%esp)", "8(%rsp,%rax)", "8(%rsp,%rax,4)", "x(%rsp)", "foo(%rip)", "8(%rsp",
        "--8(%rsp)", "99999999999(%rsp)", "rsp", "8(%rsp)x", "%xmm0", "1.5(%rsp)"})
    EXPECT_FALSE(ParseOperand(text)) << text;
  EXPECT_FALSE(ParseOperand("8(rsp)"));
}

TEST(RecordMap, FindsTheLastLabelOfTheFunctionBeforePc) {
  MapWriter writer;
  writer.Add(0x1010, 1, "8(%rsp)", {Word(1), Word(2)}).Add(0x1040, 1, "16(%rsp)").Add(0x2010, 2, "-8(%rbp)");
  const RecordMap map = writer.Read();
  ASSERT_EQ(map.size(), 3u);
  const uint64_t one[] = {1};
  EXPECT_EQ(map.Find(0x1000, 0x100f, one), nullptr);
  ASSERT_NE(map.Find(0x1000, 0x1010, one), nullptr);
  EXPECT_EQ(map.Find(0x1000, 0x1010, one)->words.size(), 2u);
  EXPECT_EQ(map.Find(0x1000, 0x1050, one)->operand->offset, 16);
  EXPECT_NE(map.FindIn(0x1000, 0x20, one), nullptr);
  EXPECT_EQ(map.FindIn(0x1000, 0x10, one), nullptr);
}

// After link-time inlining the label of a callee lies in its caller: it describes the callee's frame, which is no more.
TEST(RecordMap, LeavesOutRecordsOfInlinedFunctions) {
  MapWriter writer;
  writer.Add(0x1010, 1, "8(%rsp)").Add(0x1030, 2, "24(%rsp)");
  const RecordMap map = writer.Read();
  const uint64_t one[] = {1};
  const uint64_t other[] = {3};
  EXPECT_EQ(map.Find(0x1000, 0x1050, one)->operand->offset, 8);
  EXPECT_EQ(map.Find(0x1000, 0x1050, other), nullptr);
  // A stripped file has no name to compare: the function's own record comes first.
  EXPECT_EQ(map.Find(0x1000, 0x1050, {})->operand->offset, 8);
}

TEST(RecordMap, SkipsZerosAtTheEnd) {
  MapWriter writer;
  writer.Add(0x1010, 1, "8(%rsp)").Add(0x1020, 2, "8(%rsp)").Pad(24);
  EXPECT_EQ(writer.Read().size(), 2u);
  EXPECT_EQ(writer.Read().damaged(), 0u);
}

// All of its words are alive wherever it can be seen.
TEST(RecordMap, HasNoPlaceWhereNothingIsStored) {
  abi::MapWord followed = Word(1);
  followed.record_offset = abi::kNotStored;
  followed.flags = abi::kFollowed;
  MapWriter writer;
  writer.Add(0x1010, 1, "", {followed}).Add(0x1020, 2, "", {followed, Word(2)});
  const RecordMap map = writer.Read();
  EXPECT_EQ(map.damaged(), 1u);  // a word without a place
  const uint64_t one[] = {1};
  ASSERT_NE(map.Find(0x1000, 0x1010, one), nullptr);
  EXPECT_FALSE(map.Find(0x1000, 0x1010, one)->operand);
}

TEST(RecordMap, SkipsEntriesThatItCannotUnderstand) {
  MapWriter writer;
  writer.Add(0x1010, 1, "8(%rsp)").Add(0x1020, 2, "8(%rsp,%rax,4)").Add(0x1030, 3, "8(%rsp)", {abi::MapWord{}});
  const size_t version = writer.bytes().size() + offsetof(abi::MapEntry, version);
  writer.Add(0x1040, 4, "8(%rsp)").Add(0x1050, 5, "(%rsp)");
  writer.bytes()[version] = 9;
  EXPECT_EQ(writer.Read().size(), 2u);
  EXPECT_EQ(writer.Read().damaged(), 3u);
}

TEST(RecordMap, SurvivesEveryTruncationAndAnyByte) {
  MapWriter writer;
  writer.Add(0x1010, 1, "8(%rsp)", {Word(1), Word(2)}).Add(0x1020, 2, "-16(%rbp)", {Word(1)});
  const std::vector<uint8_t> whole = writer.bytes();
  for (size_t size = 0; size <= whole.size(); ++size) EXPECT_LE(RecordMap({whole.data(), size}).size(), 2u);
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> damaged = whole;
    damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    EXPECT_LE(RecordMap(damaged).size(), damaged.size() / 4);
  }
}

}  // namespace
}  // namespace recrash
