// Where the parts of the installation lie. Each place is found from this executable, so that the prefix can be moved:
// PREFIX/bin has the commands, PREFIX/lib/recrash the libraries that they load and recrash-launch.
//
//   Result<std::filesystem::path> preload = InstalledFile("librecrash_preload.so");
#ifndef RECRASH_AGENT_BASE_INSTALLATION_H_
#define RECRASH_AGENT_BASE_INSTALLATION_H_

#include <filesystem>
#include <string>

#include "agent/base/result.h"

namespace recrash {

// The folder that this executable lies in: bin, or lib/recrash.
std::filesystem::path ExecutableFolder();

// lib/recrash: $RECRASH_SUPPORT_DIR; else the executable's own folder, if it is recrash-launch; else that beside bin.
std::filesystem::path SupportDirectory();

// The folder that has bin, lib, include and share.
std::filesystem::path Prefix();

// A file of SupportDirectory(), or of `directory`, which only tests give. Returns its canonical path, or kMissing with
// the way out.
//
// Our own code comes from the installation alone. So this function looks in this one folder: not in the working folder,
// not in a search path, not beside the user's program, not at a path that a report names.
Result<std::filesystem::path> InstalledFile(const std::string& name, const std::filesystem::path& directory = {});

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_INSTALLATION_H_
