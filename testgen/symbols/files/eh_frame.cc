#include "testgen/symbols/files/eh_frame.h"

#include <dwarf.h>

#include <algorithm>
#include <optional>

#include "testgen/symbols/files/cursor.h"

namespace recrash {
namespace {

// Reads a pointer in an encoding of DW_EH_PE_*: absolute, or relative to where it stands. Other bases do not occur in
// FDEs of x86-64.
std::optional<uint64_t> ReadEncoded(Cursor& cursor, uint8_t encoding, uint64_t section_address) {
  const uint64_t here = section_address + cursor.offset();
  uint64_t value = 0;
  switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      value = cursor.Read<uint64_t>();
      break;
    case DW_EH_PE_udata4:
      value = cursor.Read<uint32_t>();
      break;
    case DW_EH_PE_sdata4:
      value = static_cast<int64_t>(cursor.Read<int32_t>());
      break;
    default:
      return std::nullopt;
  }
  switch (encoding & 0x70) {
    case DW_EH_PE_absptr:
      break;
    case DW_EH_PE_pcrel:
      value += here;
      break;
    default:
      return std::nullopt;
  }
  return cursor.ok() ? std::optional(value) : std::nullopt;
}

// Returns the encoding of an FDE's pointers, which the letter R in its CIE's augmentation gives.
std::optional<uint8_t> PointerEncoding(std::span<const uint8_t> section, size_t cie_offset, uint64_t address) {
  Cursor cursor(section, cie_offset);
  const uint32_t length = cursor.Read<uint32_t>();
  if (!cursor.ok() || length == 0xffffffff || cursor.Read<uint32_t>() != 0) return std::nullopt;
  const uint8_t version = cursor.Read<uint8_t>();
  const std::string_view augmentation = cursor.Text();
  cursor.Uleb();  // code alignment
  cursor.Uleb();  // data alignment: as long as an unsigned one
  if (version == 1)
    cursor.Skip(1);
  else
    cursor.Uleb();  // return address register
  if (augmentation.empty() || augmentation[0] != 'z') return DW_EH_PE_absptr;
  cursor.Uleb();
  for (const char letter : augmentation.substr(1)) {
    if (letter == 'R') {
      const uint8_t encoding = cursor.Read<uint8_t>();
      return cursor.ok() ? std::optional(encoding) : std::nullopt;
    }
    if (letter == 'L') cursor.Skip(1);
    if (letter == 'P') {
      const uint8_t encoding = cursor.Read<uint8_t>();
      // Only the length of the pointer matters here, so its base is ignored.
      if (!ReadEncoded(cursor, encoding & 0x0f, address)) return std::nullopt;
    }
  }
  return DW_EH_PE_absptr;
}

}  // namespace

std::vector<FunctionRange> ReadFdeRanges(std::span<const uint8_t> section, uint64_t address) {
  std::vector<FunctionRange> ranges;
  std::optional<uint8_t> encoding;
  size_t encoding_of = SIZE_MAX;  // CIEs are shared by runs of FDEs: read each once a run
  for (Cursor cursor(section); cursor.ok() && cursor.left() >= 4;) {
    const uint32_t length = cursor.Read<uint32_t>();
    if (length == 0 || length == 0xffffffff) break;  // the terminator; 64-bit CFI does not occur in .eh_frame
    const size_t id_offset = cursor.offset();
    const size_t next = id_offset + length;
    const uint32_t id = cursor.Read<uint32_t>();
    if (id != 0 && id <= id_offset) {
      if (encoding_of != id_offset - id) {
        encoding_of = id_offset - id;
        encoding = PointerEncoding(section, encoding_of, address);
      }
      if (encoding) {
        const auto start = ReadEncoded(cursor, *encoding, address);
        const auto size = ReadEncoded(cursor, *encoding & 0x0f, 0);
        if (start && size && *size > 0) ranges.push_back({*start, *size, {}});
      }
    }
    if (next > section.size()) break;
    cursor = Cursor(section, next);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const FunctionRange& a, const FunctionRange& b) { return a.start < b.start; });
  return ranges;
}

}  // namespace recrash
