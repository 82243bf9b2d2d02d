// A plug-in with the client in it, built twice under two names. Its host is host.c.
#include <pthread.h>
#include <recrash/recrash.h>

#include <cstdlib>
#include <string>

namespace {

__attribute__((noinline)) int ReadAt(const volatile int* place) { return *place + 1; }

void* ReadNull(void*) {
  ReadAt(nullptr);
  return nullptr;
}

__attribute__((noinline)) int Recurse(int depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : Recurse(depth + 1) + frame[0];
}

}  // namespace

extern "C" int RECRASH_TEST_PLUGIN_ENTRY(const char* what, void (*call_back)()) {
  const std::string way = what;
  const int fine = 1;
  RECRASH_NOTE("plugin", RECRASH_TEST_PLUGIN_NAME);
  if (way == "nothing") return ReadAt(&fine);
  if (way == "segv") return ReadAt(nullptr);
  if (way == "abort") std::abort();
  if (way == "throw") throw std::string("thrown");
  if (way == "overflow") return Recurse(0);
  if (way == "back") call_back();
  if (way == "report") RECRASH_REPORT("noticed");
  if (way == "thread") {
    pthread_t thread;
    pthread_create(&thread, nullptr, ReadNull, nullptr);
    pthread_join(thread, nullptr);
  }
  return 0;
}
