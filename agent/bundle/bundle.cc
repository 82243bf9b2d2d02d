#include "agent/bundle/bundle.h"

#include <filesystem>
#include <optional>
#include <string_view>

#include "agent/base/printable_text.h"
#include "agent/bundle/zip_reader.h"

namespace recrash {
namespace {

struct Members {
  std::optional<ZipEntry> report;
  std::optional<ZipEntry> minidump;
  std::optional<ZipEntry> read_me;
};

// Null: no bundle has such a member.
std::optional<ZipEntry>* PlaceOf(std::string_view name, Members* members) {
  if (name.find_first_of("/\\") != name.npos) return nullptr;
  if (name.ends_with(".rcr") || name.ends_with(".rcraw")) return &members->report;
  if (name.ends_with(".dmp")) return &members->minidump;
  return name == kBundleReadMe ? &members->read_me : nullptr;
}

Error NotABundle(const InputFile& file, const std::string& what) {
  return {Errc::kDamaged, file.path() + ": needed a bundle of `recrash bundle`, found a zip file with " + what +
                              "\nunpack it, and give the report in it, if you trust where it came from"};
}

Result<Members> MembersOf(const InputFile& file) {
  const Result<std::vector<ZipEntry>> entries = ReadZipDirectory(file);
  if (!entries) return entries.error();
  Members members;
  for (const ZipEntry& entry : *entries) {
    std::optional<ZipEntry>* const place = PlaceOf(entry.name, &members);
    if (!place) return NotABundle(file, "\"" + EscapeText(entry.name.substr(0, 80)) + "\" in it");
    if (*place) return NotABundle(file, "two files of one kind");
    *place = entry;
  }
  if (!members.report) return NotABundle(file, "no report");
  return members;
}

}  // namespace

Result<InputFile> OpenReport(const std::string& path) {
  Result<InputFile> file = InputFile::Open(path);
  if (!file || !IsZip(*file)) return file;
  const Result<Members> members = MembersOf(*file);
  if (!members) return members.error();
  return OpenZipEntry(*file, *members->report, kMostInBundle);
}

Result<InputFile> OpenMinidump(const std::string& path) {
  const Result<InputFile> file = InputFile::Open(path);
  if (!file) return file.error();
  if (!IsZip(*file)) return InputFile::Open(std::filesystem::path(path).replace_extension(".dmp"));
  const Result<Members> members = MembersOf(*file);
  if (!members) return members.error();
  if (!members->minidump) return Error{Errc::kMissing, path + ": no minidump in it"};
  return OpenZipEntry(*file, *members->minidump, kMostInBundle);
}

}  // namespace recrash
