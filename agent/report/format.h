// The container's layout: FORMAT.md in C++. Shared by the writer and the reader, and by nobody else.
#ifndef RECRASH_AGENT_REPORT_FORMAT_H_
#define RECRASH_AGENT_REPORT_FORMAT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace recrash::format {

static_assert(std::endian::native == std::endian::little, "the structs below are written as they lie in memory");

// Like PNG's: a byte above 127, both line ends and ^Z, so that a transfer in text mode breaks it at once.
constexpr char kMagic[8] = {'\x89', 'R', 'C', 'R', '\r', '\n', '\x1a', '\n'};
constexpr uint32_t kVersion = 9;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t section_count;
  uint64_t file_size;
  uint32_t crc;  // of this header, this field as 0, and the table behind it
  uint32_t reserved;
};
static_assert(sizeof(Header) == 32 && std::is_trivially_copyable_v<Header>);

enum class SectionKind : uint32_t {
  kMetadata = 1,
  kMemory = 2,
  kReplay = 3,
  kImage = 4,
  kEntryStates = 5,
  kInputs = 6,
  kSnapshots = 7,      // records
  kSnapshotPages = 8,  // their memory
};

enum SectionFlags : uint32_t {
  kOptional = 1,  // a reader that does not know the kind leaves it out
};

enum class Compression : uint32_t {
  kNone = 0,
  kZstdChunks = 1,
  kZstdWords = 2,      // of page runs: chunks over packed words
  kZstdWordsOver = 3,  // of entry states: the same over the pages that were there before
};

struct Section {
  uint32_t kind;
  uint32_t flags;
  uint64_t offset;         // of the section before it plus that one's stored_length: no gaps
  uint64_t stored_length;  // in the file
  uint64_t length;         // uncompressed
  uint32_t crc;            // of the stored bytes
  uint32_t compression;
};
static_assert(sizeof(Section) == 40 && std::is_trivially_copyable_v<Section>);

constexpr uint32_t kMaxSections = 64;

// Stands before each piece of a compressed section. stored_length == length: the bytes as they are.
struct Chunk {
  uint32_t stored_length;
  uint32_t length;  // 1 .. kMaxChunk
};
static_assert(sizeof(Chunk) == 8);

constexpr uint32_t kMaxChunk = 1 << 20;

// Begins the sections of page runs, followed by `count` of Run, then by the bytes of all runs one after the other.
struct Run {
  uint64_t address;
  uint64_t length;
};
static_assert(sizeof(Run) == 16);

// Packed words: a class for each, then what the classes leave open.
enum class WordClass : uint8_t {
  kZero = 0,  // or, where there is a page below, the word of that
  kNear = 1,  // a pointer into its own run: distance from the word to its target, in words, 16 bits
  kFar = 2,   // the same in bytes, 32 bits
  kByte = 3,
  kHalf = 4,        // 16 bits: the difference from the last word of this class
  kFour = 5,        // 32 bits
  kLiteral = 6,     // 64 bits
  kDifference = 7,  // and up: from the last word of this upper half, 32 bits
};
constexpr size_t kArgumentStreams = 8;
constexpr size_t kUpperHalves = 17;
constexpr uint8_t kFirstRecent = 7 + kUpperHalves;
constexpr size_t kRecentWords = 256 - kFirstRecent;  // in pairs
static_assert(kRecentWords % 2 == 0);
constexpr size_t kPiece = 1 << 20;  // of a run, packed together

// A section may unpack to this much whatever its size, and beyond it to kMaxRatio times its size: the writer leaves
// chunks uncompressed where zstd would do better, so that nothing honest is refused, and no bomb of a few mebibytes
// passes.
constexpr uint64_t kFreeLength = 256u << 20;
constexpr uint64_t kMaxRatio = 256;

constexpr bool IsPackedWords(Compression compression) { return compression >= Compression::kZstdWords; }

// A byte of packed words may stand for eight. A chunk that is not compressed never breaks the rule.
constexpr bool PlausibleLength(Compression compression, uint64_t stored_length, uint64_t length) {
  const uint64_t each = IsPackedWords(compression) ? 8 : 1;
  const uint64_t free = kFreeLength / each;
  return length <= free || (length - free) / (kMaxRatio / each) <= stored_length;
}

constexpr uint64_t kMaxMetadata = 64u << 20;
constexpr uint64_t kMaxReplay = 512u << 20;
constexpr uint64_t kMaxInputs = 64u << 20;
constexpr uint64_t kMaxSnapshots = 64u << 20;
constexpr uint32_t kMaxString = 1 << 20;
constexpr uint32_t kMaxBytes = 64u << 20;  // of one byte array in the metadata
constexpr uint32_t kMaxCount = 8u << 20;   // of the elements of one list

}  // namespace recrash::format

#endif  // RECRASH_AGENT_REPORT_FORMAT_H_
