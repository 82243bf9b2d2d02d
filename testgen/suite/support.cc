#include "testgen/suite/support.h"

#include <fmt/format.h>

#include <cstdlib>

namespace recrash {
namespace fs = std::filesystem;

fs::path SupportDirectory() {
  if (const char* directory = std::getenv("RECRASH_SUPPORT_DIR"); directory && *directory) return directory;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path() / "lib" / "recrash";
}

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
