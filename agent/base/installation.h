// Where the parts of the installation lie: relative to this executable, so that the prefix can be moved.
#ifndef RECRASH_AGENT_BASE_INSTALLATION_H_
#define RECRASH_AGENT_BASE_INSTALLATION_H_

#include <cstdlib>
#include <filesystem>

namespace recrash {

// The folder that this executable lies in: bin, or lib/recrash.
inline std::filesystem::path ExecutableFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

// lib/recrash: $RECRASH_SUPPORT_DIR, else that beside bin.
inline std::filesystem::path SupportDirectory() {
  if (const char* chosen = std::getenv("RECRASH_SUPPORT_DIR"); chosen && *chosen) return chosen;
  return ExecutableFolder().parent_path() / "lib" / "recrash";
}

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_INSTALLATION_H_
