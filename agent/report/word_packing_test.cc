// Packed words: what they look like, that they come back, and that they are worth it.
#include "agent/report/word_packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "agent/report/reader.h"
#include "agent/report/testing_reports.h"
#include "agent/report/writer.h"

namespace recrash {
namespace {

using testing::ElementsAreArray;

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kHeap = 0x560000001000;

Bytes OfWords(const std::vector<uint64_t>& words) {
  Bytes bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

Bytes Packed(const Bytes& bytes) {
  Bytes packed;
  WordPacker().Pack({kHeap, bytes.size()}, 0, bytes, &packed);
  return packed;
}

Report WithMemory(std::vector<Region> regions) {
  Report report;
  report.memory = std::move(regions);
  return report;
}

class WordPacking : public testing::Test {
 protected:
  void ExpectBack(const std::vector<Region>& regions) {
    const Status written = WriteReport(WithMemory(regions), path_);
    ASSERT_TRUE(written) << written.error().message;
    const Result<Report> read = ReadReport(path_);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(Dump(*read), Dump(WithMemory(regions)));
  }

  void ExpectBack(const TestReport& report) {
    const Status written = WriteReport(report, path_);
    ASSERT_TRUE(written) << written.error().message;
    const Result<TestReport> read = ReadTestReport(path_);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(Dump(*read), Dump(report));
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "a.rcr";
};

// Of tests whose frames start from these pages over that memory.
TestReport WithStates(std::vector<Region> memory, std::vector<EntryMemory::Layer> states) {
  TestReport report;
  report.memory = std::move(memory);
  for (EntryMemory::Layer& pages : states) {
    EntryState& state = report.replay.entry_states.emplace_back();
    state.frame = static_cast<uint32_t>(report.replay.entry_states.size());
    state.memory = std::move(pages);
  }
  return report;
}

// The format, word for word: FORMAT.md. 0x9e3779b97f4a7c15 * word >> 40 chooses the pair of places for what was seen
// lately.
TEST_F(WordPacking, LooksLikeThis) {
  const uint64_t vtable = 0x7f1122334455;
  const uint8_t seen = 24 + ((vtable * 0x9e3779b97f4a7c15) >> 40) % 116 * 2 + 1;  // the second place is filled first
  const Bytes packed = Packed(OfWords({
      0,
      kHeap,               // one word back
      kHeap + 17,          // one byte on: no multiple of a word
      200,                 //
      1000,                //
      1002,                // 2 more
      0x12345678,          //
      vtable,              //
      vtable,              // seen
      vtable - 0x10,       // near one of the same upper half: 0x7f11 % 17 is 8
      0xfedcba9876543210,  //
  }));
  EXPECT_THAT(packed, ElementsAreArray(Bytes{
                          0,    1,    2,    3,    4,    4,    5,    6,    seen, 7 + 8, 6,  // classes
                          0xff, 0xff,                                                      // near
                          1,    0,    0,    0,                                             // far
                          200,                                                             // byte
                          0xe8, 0x03, 2,    0,                                             // half
                          0x78, 0x56, 0x34, 0x12,                                          // four
                          0x55, 0x44, 0x33, 0x22, 0x11, 0x7f, 0,    0,                     // literal
                          0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe,                  //
                          0xf0, 0xff, 0xff, 0xff,                                          // difference
                      }));
}

TEST_F(WordPacking, OverAPageOnlyWhatDiffersHasAnArgument) {
  Bytes page(4096);
  const Bytes below = OfWords({0x7f1122334455, 200, 1000});
  std::ranges::copy(below, page.begin());
  const Pages pages = {{kHeap, page.data()}};
  Bytes packed;
  WordPacker(&pages).Pack({kHeap, 32}, 0, OfWords({0x7f1122334455, 0, 1001, 0}), &packed);
  EXPECT_THAT(packed, ElementsAreArray(Bytes{0, 3, 4, 0, 0, 0xe9, 0x03}));
}

// The same page, one that differs, one of zeros over one that has words, one with nothing below it; over the memory of
// the crash and over the state before. Runs that begin nowhere near a page or a word have nothing below them.
TEST_F(WordPacking, ComesBackFromStatesOverPages) {
  std::mt19937_64 random(3);
  std::vector<uint64_t> words(1024);
  for (uint64_t& word : words) word = random() >> (random() % 64);
  std::vector<uint64_t> other = words;
  for (size_t i = 0; i < other.size(); i += 9) other[i] ^= random();
  const Bytes zeros(8192);
  ExpectBack(WithStates({{{kHeap}, OfWords(words)}, {{kHeap + 0x8000}, OfWords(words)}},
                        {{{{kHeap}, OfWords(words)}, {{kHeap + 0x7000}, OfWords(other)}},
                         {{{kHeap}, OfWords(other)}, {{kHeap + 0x7000}, zeros}},
                         {{{kHeap}, zeros}, {{kHeap + 0x7000}, OfWords(words)}, {{kHeap + 0x20000}, OfWords(words)}},
                         {{{kHeap + 3}, Bytes(9000, 5)}, {{UINT64_MAX - 9}, Bytes(9, 1)}}}));
}

TEST_F(WordPacking, TakesNextToNothingOfAStateThatDiffersInAWord) {
  std::mt19937_64 random(4);
  std::vector<uint64_t> words(8 * 512);
  for (uint64_t& word : words) word = random();
  std::vector<EntryMemory::Layer> states;
  for (uint64_t i = 0; i < 5; ++i) {
    words[i * 700] = i;
    states.push_back({{{kHeap}, OfWords(words)}});
  }
  TestReport report = WithStates({{{kHeap}, OfWords(words)}}, {});
  ASSERT_TRUE(WriteReport(report, path_));
  const uint64_t without = std::filesystem::file_size(path_);
  report = WithStates(report.memory, std::move(states));
  ExpectBack(report);
  EXPECT_LT(std::filesystem::file_size(path_) - without, 400u);
}

TEST_F(WordPacking, LeavesOddBytesAtTheEnd) {
  EXPECT_THAT(Packed({0, 0, 0, 0, 0, 0, 0, 0, 7, 9}), ElementsAreArray({0, 7, 9}));
}

// Each class at both sides of its borders, pointers from and to both ends of the run.
TEST_F(WordPacking, ComesBackAtEachBorder) {
  std::vector<uint64_t> words(3 << 17);  // three pieces
  const uint64_t end = kHeap + words.size() * 8;
  size_t at = 0;
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{255}, uint64_t{256}, uint64_t{65535}, uint64_t{65536}, uint64_t{UINT32_MAX},
        uint64_t{UINT32_MAX} + 1, kHeap - 1, kHeap, kHeap + 4, end - 1, end, UINT64_MAX, uint64_t{1} << 63}) {
    words[at] = words[words.size() - 1 - at] = words[words.size() / 2 + at] = value;
    ++at;
  }
  for (const int64_t away : {32767 * 8, 32768 * 8, -32768 * 8, -32769 * 8, 32767 * 8 + 1}) {
    const size_t place = words.size() / 2 - ++at;
    words[place] = kHeap + place * 8 + static_cast<uint64_t>(away);
  }
  ExpectBack({{{kHeap}, OfWords(words)}});
}

// A run that begins nowhere near a page or a word, runs shorter than a word, one at the end of the address space.
TEST_F(WordPacking, ComesBackFromOddRuns) {
  ExpectBack({{{3}, {1}}, {{5}, {1, 2, 3, 4, 5, 6, 7}}, {{0x10001}, Bytes(4099, 5)}, {{UINT64_MAX - 9}, Bytes(9, 1)}});
}

// No class of them has an argument, and none came before: UBSan sees what is read of the empty array.
TEST_F(WordPacking, ComesBackFromZeroWordsAlone) { ExpectBack({{{kHeap}, OfWords({0, 0, 0})}}); }

// More than 2 GiB apart, so that 32 bits do not hold the distance; the pages are never touched.
TEST_F(WordPacking, TellsDistancesThatAreTooLong) {
  const Bytes bytes = OfWords({kHeap + (uint64_t{1} << 31), kHeap + (uint64_t{1} << 31) + 7, kHeap + 2});
  Bytes packed;
  WordPacker().Pack({kHeap, uint64_t{1} << 33}, 0, bytes, &packed);
  EXPECT_EQ(packed[0], static_cast<uint8_t>(format::WordClass::kLiteral));
  EXPECT_EQ(packed[1], static_cast<uint8_t>(format::WordClass::kFar));
}

TEST_F(WordPacking, ComesBackFromNoise) {
  std::mt19937_64 random(5);
  std::vector<uint64_t> words(20000);
  for (uint64_t& word : words) word = random() >> (random() % 64);
  for (size_t i = 0; i < words.size(); i += 3) words[i] = kHeap + random() % (words.size() * 8);
  for (size_t i = 1; i < words.size(); i += 7) words[i] = 0x7f0000000000 + random() % 5000 * 16;
  ExpectBack({{{kHeap}, OfWords(words)}, {{0x7f0000000000}, OfWords(words)}});
}

// Why all this: nodes of a tree, each with a vtable, three neighbours, a number and a name of its own.
TEST_F(WordPacking, HalvesAHeapOfNodes) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> words;
  for (uint64_t i = 0; i < 20000; ++i) {
    const uint64_t self = kHeap + i * 64;
    words.insert(words.end(), {0x41, 0x55aa00001230, self - 64, self + 64, self - random() % 8 * 64, i % 5000,
                               0x6e616d65 + (random() % 100 << 32), 0});
  }
  const Bytes bytes = OfWords(words);
  ASSERT_TRUE(WriteReport(WithMemory({{{kHeap}, bytes}}), path_));
  Bytes plain(ZSTD_compressBound(bytes.size()));
  plain.resize(ZSTD_compress(plain.data(), plain.size(), bytes.data(), bytes.size(), 6));
  EXPECT_LT(ReadBytes(path_).size() * 2, plain.size());
}

}  // namespace
}  // namespace recrash
