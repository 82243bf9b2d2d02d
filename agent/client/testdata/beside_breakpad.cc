// Fails as its argument says, with Breakpad in the process as $BREAKPAD says.
#include <pthread.h>

#include <cstdlib>
#include <string_view>

#include "agent/client/testdata/breakpad.h"

namespace {

__attribute__((noinline)) void WriteTo(volatile int* place) { *place = 1; }

void* WriteToNull(void*) {
  WriteTo(nullptr);
  return nullptr;
}

}  // namespace

int main(int, char** arguments) {
  const char* given = std::getenv("BREAKPAD");
  const std::string_view when = given != nullptr ? given : "", how = arguments[1];
  if (when.substr(0, 4) == "late") InstallBreakpad(when == "late-handles");
  if (how == "abort") std::abort();
  if (how == "throw") throw 5;
  if (how == "thread") {
    pthread_t thread;
    pthread_create(&thread, nullptr, WriteToNull, nullptr);
    pthread_join(thread, nullptr);
  }
  WriteTo(nullptr);
}
