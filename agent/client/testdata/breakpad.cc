#include "agent/client/testdata/breakpad.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "client/linux/handler/exception_handler.h"

namespace {

bool Dumped(const google_breakpad::MinidumpDescriptor&, void* handles, bool succeeded) {
  const char text[] = "breakpad: dumped\n";
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return false;
  return succeeded && handles != nullptr;
}

// In a library it runs before the client starts.
__attribute__((constructor)) void InstallEarly() {
  const char* when = std::getenv("BREAKPAD");
  if (when != nullptr && std::string_view(when).substr(0, 5) == "early")
    InstallBreakpad(std::string_view(when) == "early-handles");
}

}  // namespace

void InstallBreakpad(bool handles) {
  static char yes;
  mkdir("dumps", 0700);
  // Never deleted: as in a program that dies.
  new google_breakpad::ExceptionHandler(google_breakpad::MinidumpDescriptor("dumps"), nullptr, Dumped,
                                        handles ? &yes : nullptr, /*install_handler=*/true, /*server_fd=*/-1);
}
