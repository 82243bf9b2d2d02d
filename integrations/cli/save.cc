// Names of a report are anybody's: none of them becomes a path. The folder is new, so nothing that is there is touched.
#include "integrations/cli/save.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "agent/base/file_io.h"
#include "agent/base/printable_text.h"
#include "agent/base/text.h"

namespace recrash::cli {
namespace {

constexpr size_t kLongestName = 100;

Status SaveFile(const std::string& folder, size_t number, const std::string& path, const std::vector<uint8_t>& bytes,
                const std::string& what) {
  const std::string name = SavedName(number, path);
  Result<OutputFile> file = OutputFile::Create(folder + "/" + name, "file");
  if (!file) return file.error();
  file->WriteAt(0, bytes.data(), bytes.size());
  if (Status kept = file->Keep(); !kept) return kept;
  fmt::print("{}  {} {}\n", name, what, PrintableText(path));
  return Ok{};
}

}  // namespace

std::string SavedName(size_t number, const std::string& path) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+.";
  std::string name = BaseName(path).substr(0, kLongestName);
  for (char& c : name)
    if (kPlain.find(c) == kPlain.npos) c = '_';
  return fmt::format("{}-{}", number, name.empty() ? "file" : name);
}

Status SaveHoldings(const Report& report, const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0)
    return Error{errno == EEXIST ? Errc::kUsage : Errc::kRefused,
                 folder + ": the folder cannot be made: " + std::strerror(errno) + "\n  --save needs a new folder"};
  size_t number = 0;
  for (const Input& input : report.inputs) {
    if (!input.held()) continue;
    const char* what = input.attached ? "attached file" : "file";
    if (Status saved = SaveFile(folder, ++number, input.path, input.bytes, what); !saved) return saved;
  }
  for (const KeptLog& log : report.logs)
    if (Status saved = SaveFile(folder, ++number, log.path, log.tail, std::string("end of ") + log.title()); !saved)
      return saved;
  if (number == 0) fmt::print("the report holds no files\n");
  return Ok{};
}

}  // namespace recrash::cli
