// The words of a run of pages, packed before zstd sees them.
//
// Memory of a C++ program is mostly pointers, and equal structures differ in theirs: a node points to the next one a
// few words behind it, wherever it lies. So each aligned word becomes a class (one byte) and what the class leaves
// open: a pointer into its own run, its distance; one of the words seen lately, nothing; a word near a word with the
// same upper half, the difference. Classes first, then the arguments class by class, so that zstd finds like beside
// like. What zstd gets is a fifth to a third of the memory, so that level 6 takes no longer than level 3 did. Reports
// of 14 crashes of cppcheck: median from 265 KiB to 139, largest from 1,502 to 435 (docs/measurements/reports.md).
//
// Byte planes in the manner of Blosc made these reports larger by a third: strings and repeated structures fall apart.
// To sort malloc's blocks by size first gained 4 % and took a walk over a heap that may be corrupt.
#ifndef RECRASH_AGENT_REPORT_WORD_PACKING_H_
#define RECRASH_AGENT_REPORT_WORD_PACKING_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/format.h"
#include "agent/report/pages.h"
#include "agent/report/section_io.h"

namespace recrash {

// What both sides know of the words before; FORMAT.md says when they change.
//
// A word seen lately lies in one of the two places of its pair and stays there until the pair has seen two others: with
// single places it was chance, by the addresses of the day, whether two frequent words drove each other out, and the
// same crash of swig took 943 KiB or 1,161.
struct WordHistory {
  std::array<uint64_t, format::kRecentWords> recent{};
  std::array<bool, format::kRecentWords / 2> second_is_newer{};
  std::array<uint64_t, format::kUpperHalves> by_upper_half{};
  uint16_t half = 0;
};

// The words of pages that lie below those that are packed: of the memory of the crash, and of the states before.
class WordsBelow {
 public:
  WordsBelow() = default;
  // The pages outlive it, and may become more.
  explicit WordsBelow(const Pages* pages) : pages_(pages) {}

  // 0 where no page has all of the word.
  uint64_t At(uint64_t address);

 private:
  const Pages* pages_ = nullptr;
  uint64_t page_ = 1;  // the last one that was asked for; none to begin with
  const uint8_t* bytes_ = nullptr;
};

class WordPacker {
 public:
  // Of a page that lies over another one, words that are the same take as little as zeros do.
  explicit WordPacker(const Pages* below = nullptr) : below_(below) {}

  // Appends the packed form of `bytes`, which lie at `offset` of `run`: one piece. A piece has format::kPiece bytes;
  // the last piece of a run may have fewer.
  void Pack(const format::Run& run, uint64_t offset, std::span<const uint8_t> bytes, std::vector<uint8_t>* out);

 private:
  void PackWord(uint64_t word, uint64_t distance, bool in_run, uint64_t below, std::vector<uint8_t>* classes);

  const Pages* below_;
  WordHistory history_;
  std::array<std::vector<uint8_t>, format::kArgumentStreams> arguments_;
};

class WordUnpacker {
 public:
  explicit WordUnpacker(const Pages* below = nullptr) : below_(below) {}

  // Appends `size` bytes, which lie at `offset` of `run`, to `out`. Nothing is allocated before the classes of the
  // piece are there, so that a lie costs no more than a piece.
  Status Unpack(SectionReader* reader, const format::Run& run, uint64_t offset, size_t size, std::vector<uint8_t>* out);

 private:
  const Pages* below_;
  WordHistory history_;
  std::vector<uint8_t> classes_;
  std::vector<uint8_t> arguments_;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_WORD_PACKING_H_
