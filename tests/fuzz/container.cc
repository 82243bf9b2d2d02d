// A report's file. Its checksums are mended first: they are no defence against somebody who writes the file.
#include <algorithm>
#include <cstring>
#include <vector>

#include "agent/base/crc32c.h"
#include "agent/report/format.h"
#include "agent/report/reader.h"
#include "tests/fuzz/fuzzed_file.h"

namespace recrash {
namespace {

using format::Header;
using format::Section;

void MendChecksums(std::vector<uint8_t>& bytes) {
  if (bytes.size() < sizeof(Header)) return;
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.file_size = bytes.size();
  header.crc = 0;
  const uint64_t count = std::min<uint64_t>(header.section_count, (bytes.size() - sizeof header) / sizeof(Section));
  for (uint64_t i = 0; i < count; ++i) {
    uint8_t* const place = bytes.data() + sizeof header + i * sizeof(Section);
    Section section;
    std::memcpy(&section, place, sizeof section);
    if (section.offset > bytes.size() || section.stored_length > bytes.size() - section.offset) continue;
    section.crc = ExtendCrc32c(0, bytes.data() + section.offset, section.stored_length);
    std::memcpy(place, &section, sizeof section);
  }
  header.crc =
      ExtendCrc32c(ExtendCrc32c(0, &header, sizeof header), bytes.data() + sizeof header, count * sizeof(Section));
  std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace
}  // namespace recrash

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace recrash;
  std::vector<uint8_t> bytes(data, data + size);
  MendChecksums(bytes);
  const std::string& path = FuzzedFile(bytes);
  const ReadLimits limits{.memory = 64 << 20};
  (void)ReadMetadata(path);
  (void)ReadReport(path, limits);
  (void)ReadTestReport(path, limits);
  return 0;
}
