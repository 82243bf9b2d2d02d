#include "agent/bundle/zip_reader.h"

#include <zlib.h>

#include <algorithm>
#include <optional>

#include "agent/bundle/zip_format.h"

namespace recrash {
namespace {

using zip::DirectoryEnd;
using zip::DirectoryLine;
using zip::MemberHeader;

constexpr size_t kPiece = 64 * 1024;

Error Damaged(const InputFile& file, const std::string& what) {
  return {Errc::kDamaged, file.path() + ": damaged zip file: " + what};
}

// It may be whole.
Error NotRead(const InputFile& file, const std::string& what) {
  return {Errc::kDamaged,
          file.path() + ": zip file that is not read: " + what + "\nunpack it, and give the report in it"};
}

Result<DirectoryEnd> ReadEnd(const InputFile& file) {
  DirectoryEnd end;
  if (file.size() < sizeof end) return Damaged(file, "has " + std::to_string(file.size()) + " bytes");
  const uint64_t at = file.size() - sizeof end;
  if (Status status = file.ReadAt(at, &end, sizeof end); !status) return status.error();
  if (end.mark != DirectoryEnd::kMark || end.comment_size != 0) return Damaged(file, "does not end as a zip file does");
  if (end.disk != 0 || end.directory_disk != 0 || end.count_here != end.count)
    return NotRead(file, "it is one of several disks");
  if (end.count > kMostZipEntries)
    return NotRead(file,
                   std::to_string(end.count) + " entries, at most " + std::to_string(kMostZipEntries) + " are read");
  if (uint64_t{end.offset} + end.size != at) return Damaged(file, "its directory does not lie before its end");
  return end;
}

// Only the directory says how long a member is: its own header need not.
Result<ZipEntry> ReadMember(const InputFile& file, const DirectoryLine& line, std::string name, uint64_t end) {
  MemberHeader header;
  if (line.offset > end || end - line.offset < sizeof header) return Damaged(file, "a member outside of it");
  if (Status status = file.ReadAt(line.offset, &header, sizeof header); !status) return status.error();
  if (header.mark != MemberHeader::kMark || header.about.name_size != line.about.name_size ||
      header.about.method != line.about.method || header.about.flags != line.about.flags)
    return Damaged(file, "a member is not what the directory says");
  if (line.about.flags & zip::kEncrypted) return NotRead(file, "a member is encrypted");
  if (line.about.method != zip::kStored && line.about.method != zip::kDeflated)
    return NotRead(file, "a member of method " + std::to_string(line.about.method));
  const uint64_t data = line.offset + sizeof header + header.about.name_size + header.about.extra_size;
  if (data > end || end - data < line.about.packed) return Damaged(file, "a member outside of it");
  if (line.about.method == zip::kStored && line.about.packed != line.about.size)
    return Damaged(file, "a stored member of two sizes");
  std::string own_name(header.about.name_size, '\0');
  if (Status status = file.ReadAt(line.offset + sizeof header, own_name.data(), own_name.size()); !status)
    return status.error();
  if (own_name != name) return Damaged(file, "a member has two names");
  return ZipEntry{std::move(name),   line.about.size, data,
                  line.about.packed, line.about.crc,  line.about.method == zip::kDeflated};
}

// One place that is many members unpacks to many times its size.
bool Overlap(std::vector<ZipEntry> entries) {
  std::ranges::sort(entries, {}, &ZipEntry::offset);
  for (size_t i = 1; i < entries.size(); ++i)
    if (entries[i - 1].offset + entries[i - 1].packed + sizeof(MemberHeader) > entries[i].offset) return true;
  return false;
}

// Nothing if they do not unpack to exactly `size` bytes.
std::optional<std::vector<uint8_t>> Inflate(std::vector<uint8_t> packed, uint64_t size) {
  z_stream stream = {};
  // Negative: without zlib's own header.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return std::nullopt;
  stream.next_in = packed.data();
  stream.avail_in = static_cast<uInt>(packed.size());
  std::vector<uint8_t> out;
  std::vector<uint8_t> piece(kPiece);
  int result = Z_OK;
  while (result == Z_OK && out.size() <= size) {
    stream.next_out = piece.data();
    stream.avail_out = kPiece;
    result = inflate(&stream, Z_NO_FLUSH);
    out.insert(out.end(), piece.begin(), piece.end() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || stream.avail_in != 0 || out.size() != size) return std::nullopt;
  return out;
}

}  // namespace

bool IsZip(const InputFile& file) {
  uint32_t mark = 0;
  return file.size() >= sizeof mark && file.ReadAt(0, &mark, sizeof mark) && mark == MemberHeader::kMark;
}

Result<std::vector<ZipEntry>> ReadZipDirectory(const InputFile& file) {
  const Result<DirectoryEnd> end = ReadEnd(file);
  if (!end) return end.error();
  std::vector<ZipEntry> entries;
  uint64_t at = end->offset;
  const uint64_t directory_end = at + end->size;
  for (size_t i = 0; i < end->count; ++i) {
    DirectoryLine line;
    if (directory_end - at < sizeof line) return Damaged(file, "its directory is cut");
    if (Status status = file.ReadAt(at, &line, sizeof line); !status) return status.error();
    const uint64_t length = sizeof line + line.about.name_size + line.about.extra_size + uint64_t{line.comment_size};
    if (line.mark != DirectoryLine::kMark || directory_end - at < length) return Damaged(file, "its directory is cut");
    std::string name(line.about.name_size, '\0');
    if (Status status = file.ReadAt(at + sizeof line, name.data(), name.size()); !status) return status.error();
    Result<ZipEntry> entry = ReadMember(file, line, std::move(name), end->offset);
    if (!entry) return entry.error();
    entries.push_back(*std::move(entry));
    at += length;
  }
  if (at != directory_end) return Damaged(file, "its directory has more than its entries");
  if (Overlap(entries)) return Damaged(file, "members overlap");
  return entries;
}

Result<InputFile> OpenZipEntry(const InputFile& file, const ZipEntry& entry, uint64_t limit) {
  if (std::max(entry.size, entry.packed) > limit)
    return NotRead(
        file, "a member of " + std::to_string(entry.size) + " bytes, at most " + std::to_string(limit) + " are read");
  std::vector<uint8_t> bytes(entry.packed);
  if (Status status = file.ReadAt(entry.offset, bytes.data(), bytes.size()); !status) return status.error();
  if (entry.deflated) {
    std::optional<std::vector<uint8_t>> unpacked = Inflate(std::move(bytes), entry.size);
    if (!unpacked) return Damaged(file, "a member cannot be unpacked to the size that the directory says");
    bytes = *std::move(unpacked);
  }
  if (crc32_z(0, bytes.data(), bytes.size()) != entry.crc) return Damaged(file, "checksum of a member");
  return InputFile::InMemory(file.path(), bytes);
}

}  // namespace recrash
