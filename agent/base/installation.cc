#include "agent/base/installation.h"

#include <cstdlib>

namespace recrash {
namespace fs = std::filesystem;
namespace {

fs::path Executable() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

}  // namespace

fs::path ExecutableFolder() { return Executable().parent_path(); }

fs::path SupportDirectory() {
  if (const char* chosen = std::getenv("RECRASH_SUPPORT_DIR"); chosen && *chosen) return chosen;
  if (Executable().filename() == "recrash-launch") return ExecutableFolder();
  return ExecutableFolder().parent_path() / "lib" / "recrash";
}

fs::path Prefix() { return SupportDirectory().parent_path().parent_path(); }

Result<fs::path> InstalledFile(const std::string& name, const fs::path& directory) {
  const fs::path path = (directory.empty() ? SupportDirectory() : directory) / name;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return fs::canonical(path, error);
  return Error{Errc::kMissing, name + " is needed, not found at " + path.string() +
                                   "\n  install recrash as a whole (./dev build), or name its lib/recrash in "
                                   "RECRASH_SUPPORT_DIR"};
}

}  // namespace recrash
