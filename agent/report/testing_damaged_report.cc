#include "agent/report/testing_damaged_report.h"

#include <algorithm>
#include <cstring>

#include "agent/base/crc32c.h"
#include "agent/report/archive.h"

namespace recrash {

using format::Section;

Bytes Container(std::vector<Part> parts, uint32_t version) {
  std::vector<Section> table;
  format::Header header{};
  std::memcpy(header.magic, format::kMagic, sizeof header.magic);
  header.version = version;
  header.section_count = parts.size();
  uint64_t offset = sizeof header + parts.size() * sizeof(Section);
  for (const Part& part : parts) {
    table.push_back({part.kind, part.flags, offset, part.stored.size(), part.length,
                     ExtendCrc32c(0, part.stored.data(), part.stored.size()), static_cast<uint32_t>(part.compression)});
    offset += part.stored.size();
  }
  header.file_size = offset;
  header.crc = ExtendCrc32c(ExtendCrc32c(0, &header, sizeof header), table.data(), table.size() * sizeof(Section));
  Bytes bytes(offset);
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!table.empty()) std::memcpy(bytes.data() + sizeof header, table.data(), table.size() * sizeof(Section));
  uint8_t* out = bytes.data() + sizeof header + table.size() * sizeof(Section);
  for (const Part& part : parts) out = std::ranges::copy(part.stored, out).out;
  return bytes;
}

Bytes Runs(std::vector<format::Run> runs, size_t bytes_behind) {
  Bytes bytes;
  Put<uint64_t>(&bytes, runs.size());
  for (const format::Run& run : runs) Put(&bytes, run);
  bytes.resize(bytes.size() + bytes_behind, 7);
  return bytes;
}

Bytes Metadata() {
  Report report = SmallReport();
  report.inputs.clear();
  return *EncodeMetadata(report);
}
}  // namespace recrash
