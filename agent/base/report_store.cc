#include "agent/base/report_store.h"

#include <cstdlib>
#include <string>

namespace recrash {

std::filesystem::path StoreDirectory() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (const std::string directory = variable("RECRASH_DIR"); !directory.empty()) return directory;
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty())
    return std::filesystem::path(state) / "recrash";
  return std::filesystem::path(variable("HOME")) / ".local" / "state" / "recrash";
}

}  // namespace recrash
