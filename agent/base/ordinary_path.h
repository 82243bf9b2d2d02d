// What a report may name as a file: an absolute path that no kernel interface hides behind.
#ifndef RECRASH_AGENT_BASE_ORDINARY_PATH_H_
#define RECRASH_AGENT_BASE_ORDINARY_PATH_H_

#include <algorithm>
#include <filesystem>
#include <string>

namespace recrash {

// False for relative paths, and below /proc (/proc/self/fd/3 may be anything), /dev and /sys.
inline bool IsOrdinaryPath(const std::string& path) {
  if (!path.starts_with('/')) return false;
  // Two slashes in the beginning are kept by lexically_normal, and are one to the kernel.
  const size_t name = std::min(path.find_first_not_of('/'), path.size());
  const std::string clear = std::filesystem::path("/" + path.substr(name)).lexically_normal();
  for (const char* kernels : {"/proc", "/dev", "/sys"})
    if (clear == kernels || clear.starts_with(std::string(kernels) + "/")) return false;
  return true;
}

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_ORDINARY_PATH_H_
