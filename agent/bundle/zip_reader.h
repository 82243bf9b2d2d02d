// Reads a zip file that came from elsewhere. Nothing is allocated on its word alone, nothing is unpacked to disk, and a
// damaged one gives one sentence.
//
//   const Result<std::vector<ZipEntry>> entries = ReadZipDirectory(file);
//   const Result<InputFile> report = OpenZipEntry(file, (*entries)[0], kMostBytes);
#ifndef RECRASH_AGENT_BUNDLE_ZIP_READER_H_
#define RECRASH_AGENT_BUNDLE_ZIP_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/file_io.h"
#include "agent/base/result.h"

namespace recrash {

struct ZipEntry {
  std::string name;  // any bytes: not the name of a file on this machine, and not fit to print
  uint64_t size = 0;
  // Where it lies, for OpenZipEntry: inside the file, apart from all others, of a method that can be read.
  uint64_t offset = 0;
  uint64_t packed = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

constexpr size_t kMostZipEntries = 16;

// The file begins with a member: by its first four bytes.
bool IsZip(const InputFile& file);

// kDamaged: it is no zip file, or one beyond what this reads: more entries, Zip64, encryption, other methods, anything
// behind its end, members that overlap.
Result<std::vector<ZipEntry>> ReadZipDirectory(const InputFile& file);

// Returns the member's content as a file in memory, with the path of `file`. It is of the size that the directory says,
// and has its checksum. kDamaged: it is not, or is larger than `limit`.
Result<InputFile> OpenZipEntry(const InputFile& file, const ZipEntry& entry, uint64_t limit);

}  // namespace recrash

#endif  // RECRASH_AGENT_BUNDLE_ZIP_READER_H_
