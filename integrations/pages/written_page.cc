#include "integrations/pages/written_page.h"

#include <filesystem>
#include <iostream>

#include "agent/base/file_io.h"

namespace recrash::pages {
namespace fs = std::filesystem;

Status WriteWhole(const std::string& text, const std::string& path, const std::string& what) {
  if (path.empty()) return Ok{};
  if (path == "-") {
    std::cout << text << std::flush;
    if (std::cout) return Ok{};
    return Error{Errc::kRefused, "standard output: " + what + " not written"};
  }
  std::error_code error;
  std::string target = path;
  if (fs::is_symlink(path, error)) {
    target = fs::weakly_canonical(path, error);
    if (error) return Error{Errc::kRefused, path + ": " + what + " not written: " + error.message()};
  }
  if (fs::exists(target, error) && !fs::is_regular_file(target, error))
    return Error{Errc::kRefused, path + ": " + what + " not written: there is something else than a file"};
  Result<OutputFile> file = OutputFile::Create(target, what);
  if (!file) return file.error();
  file->WriteAt(0, text.data(), text.size());
  return file->Keep();
}

}  // namespace recrash::pages
