// The parts of a zip file: members with a header each, then the directory, then the directory's end.
//
// No Zip64, no encryption, one disk: what is beyond that is not read, and never written.
#ifndef RECRASH_AGENT_BUNDLE_ZIP_FORMAT_H_
#define RECRASH_AGENT_BUNDLE_ZIP_FORMAT_H_

#include <cstdint>

namespace recrash::zip {

constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint16_t kEncrypted = 1;           // of `flags`
constexpr uint16_t kNeeded = 20;             // version 2.0 of the format: deflate
constexpr uint16_t kMadeOnUnix = 3 << 8;     // the upper half of `attributes` is a mode
constexpr uint32_t kMode = 0100600u << 16;   // a regular file that its owner alone reads
constexpr uint64_t kMostBytes = 0xffffffff;  // of a file; sizes and offsets have 32 bits

#pragma pack(push, 1)

// What headers of members and lines of the directory have in common.
struct About {
  uint16_t needed;
  uint16_t flags;
  uint16_t method;
  uint16_t time;
  uint16_t date;
  uint32_t crc;
  uint32_t packed;
  uint32_t size;
  uint16_t name_size;
  uint16_t extra_size;
};

// Followed by name, extra and `packed` bytes.
struct MemberHeader {
  static constexpr uint32_t kMark = 0x04034b50;
  uint32_t mark;
  About about;
};

// Followed by name, extra and comment.
struct DirectoryLine {
  static constexpr uint32_t kMark = 0x02014b50;
  uint32_t mark;
  uint16_t made_by;
  About about;
  uint16_t comment_size;
  uint16_t disk;
  uint16_t internal;
  uint32_t attributes;
  uint32_t offset;  // of the member's header
};

struct DirectoryEnd {
  static constexpr uint32_t kMark = 0x06054b50;
  uint32_t mark;
  uint16_t disk;
  uint16_t directory_disk;
  uint16_t count_here;
  uint16_t count;
  uint32_t size;  // of the directory
  uint32_t offset;
  uint16_t comment_size;
};

#pragma pack(pop)

static_assert(sizeof(MemberHeader) == 30);
static_assert(sizeof(DirectoryLine) == 46);
static_assert(sizeof(DirectoryEnd) == 22);

}  // namespace recrash::zip

#endif  // RECRASH_AGENT_BUNDLE_ZIP_FORMAT_H_
