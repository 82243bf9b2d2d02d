// Linked into the collector for tests alone. A client gives its collector no environment, so RECRASH_WITHOUT is that of
// the program.
#include <stdlib.h>
#include <string.h>

#include <string>

#include "agent/base/signal_safe/left_out.h"
#include "agent/process/proc_files.h"

namespace recrash {
namespace {

__attribute__((constructor(200))) void TakeFailPoints(int count, char** arguments, char**) {
  constexpr char kName[] = "RECRASH_WITHOUT=";
  const std::string environment = count > 1 ? '\0' + ReadProcFile(atoi(arguments[1]), "environ") : "";
  const size_t at = environment.find('\0' + std::string(kName));
  if (at != environment.npos) strncpy(g_left_out, environment.c_str() + at + sizeof kName, sizeof g_left_out - 1);
}

}  // namespace
}  // namespace recrash
