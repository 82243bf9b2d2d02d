#include "agent/bundle/zip_writer.h"

#include <zlib.h>

#include <ctime>

#include "agent/bundle/zip_format.h"

namespace recrash {
namespace {

using zip::About;

// Empty where it does not help.
std::vector<uint8_t> Deflate(const std::vector<uint8_t>& bytes) {
  z_stream stream = {};
  // Negative: without zlib's own header, as zip files have it.
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::vector<uint8_t> packed(bytes.size() - bytes.size() / 16);
  stream.next_in = const_cast<uint8_t*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool fits = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(fits ? stream.total_out : 0);
  deflateEnd(&stream);
  return packed;
}

// The format begins with 1980, and counts in steps of two seconds.
void SetTime(int64_t unix_seconds, About* about) {
  const std::time_t seconds = unix_seconds;
  std::tm utc{};
  if (!gmtime_r(&seconds, &utc) || utc.tm_year < 80 || utc.tm_year > 80 + 127) {
    about->date = 1 << 5 | 1;
    return;
  }
  about->time = static_cast<uint16_t>(utc.tm_hour << 11 | utc.tm_min << 5 | utc.tm_sec / 2);
  about->date = static_cast<uint16_t>((utc.tm_year - 80) << 9 | (utc.tm_mon + 1) << 5 | utc.tm_mday);
}

template <typename T>
void Append(const T& value, std::vector<uint8_t>* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out->insert(out->end(), bytes, bytes + sizeof value);
}

void Append(const std::string& text, std::vector<uint8_t>* out) { out->insert(out->end(), text.begin(), text.end()); }

// Appends the member to `out`, and its line to `directory`.
void AddMember(const ZipMember& member, int64_t unix_seconds, std::vector<uint8_t>* out,
               std::vector<uint8_t>* directory) {
  const std::vector<uint8_t> deflated = Deflate(member.bytes);
  const std::vector<uint8_t>& packed = deflated.empty() ? member.bytes : deflated;
  About about = {};
  about.needed = zip::kNeeded;
  about.method = deflated.empty() ? zip::kStored : zip::kDeflated;
  about.crc = static_cast<uint32_t>(crc32_z(0, member.bytes.data(), member.bytes.size()));
  about.packed = static_cast<uint32_t>(packed.size());
  about.size = static_cast<uint32_t>(member.bytes.size());
  about.name_size = static_cast<uint16_t>(member.name.size());
  SetTime(unix_seconds, &about);
  zip::DirectoryLine line = {};
  line.mark = zip::DirectoryLine::kMark;
  line.made_by = zip::kMadeOnUnix | zip::kNeeded;
  line.about = about;
  line.attributes = zip::kMode;
  line.offset = static_cast<uint32_t>(out->size());
  Append(line, directory);
  Append(member.name, directory);
  Append(zip::MemberHeader{zip::MemberHeader::kMark, about}, out);
  Append(member.name, out);
  out->insert(out->end(), packed.begin(), packed.end());
}

}  // namespace

Result<std::vector<uint8_t>> MakeZip(std::span<const ZipMember> members, int64_t unix_seconds) {
  uint64_t most = sizeof(zip::DirectoryEnd);
  for (const ZipMember& member : members)
    most += sizeof(zip::MemberHeader) + sizeof(zip::DirectoryLine) + 2 * member.name.size() + member.bytes.size();
  if (most > zip::kMostBytes)
    return Error{Errc::kRefused, std::to_string(most) + " bytes do not fit into a zip file, which has at most 4 GiB"};
  std::vector<uint8_t> out;
  std::vector<uint8_t> directory;
  for (const ZipMember& member : members) AddMember(member, unix_seconds, &out, &directory);
  zip::DirectoryEnd end = {};
  end.mark = zip::DirectoryEnd::kMark;
  end.count_here = end.count = static_cast<uint16_t>(members.size());
  end.size = static_cast<uint32_t>(directory.size());
  end.offset = static_cast<uint32_t>(out.size());
  out.insert(out.end(), directory.begin(), directory.end());
  Append(end, &out);
  return out;
}

}  // namespace recrash
