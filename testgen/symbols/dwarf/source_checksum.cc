#include "testgen/symbols/dwarf/source_checksum.h"

#include <dwarf.h>

#include <cstring>

namespace recrash {
namespace {

// Reads forwards; past the end, all is 0 and `failed`.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool failed() const { return failed_; }

  std::span<const uint8_t> Take(uint64_t count) {
    if (count > bytes_.size()) {
      failed_ = true;
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  uint64_t Number(size_t size) {
    uint64_t value = 0;
    const auto bytes = Take(size);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  uint64_t Leb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !failed_; shift += 7) {
      const uint64_t byte = Number(1);
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  std::span<const uint8_t> Form(uint64_t form) {
    switch (form) {
      case DW_FORM_string: {
        const size_t length = strnlen(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
        return Take(length + 1);
      }
      case DW_FORM_line_strp:
      case DW_FORM_strp:
      case DW_FORM_data4:
        return Take(4);
      case DW_FORM_data1:
        return Take(1);
      case DW_FORM_data2:
        return Take(2);
      case DW_FORM_data8:
        return Take(8);
      case DW_FORM_data16:
        return Take(16);
      case DW_FORM_udata:
        Leb();
        return {};
      case DW_FORM_block:
        return Take(Leb());
      default:
        failed_ = true;
        return {};
    }
  }

 private:
  std::span<const uint8_t> bytes_;
  bool failed_ = false;
};

// A list of folders or files: what each entry has, then the entries. Returns the checksums.
std::vector<Checksum> Entries(Reader& reader) {
  struct Part {
    uint64_t content, form;
  };
  std::vector<Part> format(reader.Number(1));
  for (Part& part : format) part = {reader.Leb(), reader.Leb()};
  const uint64_t count = reader.Leb();
  std::vector<Checksum> checksums;
  for (uint64_t i = 0; i < count && !reader.failed() && !format.empty(); ++i) {
    for (const Part& part : format) {
      const auto bytes = reader.Form(part.form);
      if (part.content != DW_LNCT_MD5 || bytes.size() != sizeof(Checksum)) continue;
      std::memcpy(checksums.emplace_back().data(), bytes.data(), bytes.size());
    }
  }
  return checksums;
}

}  // namespace

std::vector<Checksum> ChecksumsOf(std::span<const uint8_t> table) {
  Reader reader(table);
  const uint64_t length = reader.Number(4);
  if (length >= 0xfffffff0) return {};  // of 64 bits
  const uint64_t version = reader.Number(2);
  if (reader.failed() || version != 5) return {};
  reader.Take(2);  // sizes of addresses and of segment selectors
  reader.Take(4);  // length of the header
  reader.Take(5);  // how instructions are encoded
  const uint64_t opcodes = reader.Number(1);
  if (opcodes > 0) reader.Take(opcodes - 1);
  Entries(reader);
  std::vector<Checksum> checksums = Entries(reader);
  if (reader.failed()) checksums.clear();
  return checksums;
}

std::optional<Checksum> SourceChecksum(DebugInfo& debug, Dwarf_Die unit, const std::string& file) {
  const ElfSection* lines = debug.file().FindSection(".debug_line");
  const auto offset = AttributeNumber(unit, DW_AT_stmt_list);
  if (lines == nullptr || !offset || *offset >= lines->bytes.size()) return std::nullopt;
  const std::vector<Checksum> checksums = ChecksumsOf(lines->bytes.subspan(*offset));
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || count != checksums.size()) return std::nullopt;
  for (size_t i = 0; i < count; ++i)
    if (debug.SourceName(unit, i) == file) return checksums[i];
  return std::nullopt;
}

}  // namespace recrash
