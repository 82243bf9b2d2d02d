#include "testgen/suite/support.h"

#include <fmt/format.h>

namespace recrash {
namespace fs = std::filesystem;

fs::path Prefix() { return SupportDirectory().parent_path().parent_path(); }

Result<fs::path> SupportFile(const char* name) {
  const fs::path path = SupportDirectory() / name;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return path;
  return Error{Errc::kMissing, fmt::format("{} is needed, not found at {}\n"
                                           "install recrash as a whole (./dev build), or name its folder in "
                                           "RECRASH_SUPPORT_DIR",
                                           name, path.string())};
}

}  // namespace recrash
