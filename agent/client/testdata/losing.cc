// Has everything that a report keeps: notes, a log, an attached file, input files, another thread, entry states. Then
// it fails in the way that its argument names. tests/e2e/test_losses.py lets things fail while its report is made.
#include <fcntl.h>
#include <pthread.h>
#include <recrash/recrash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#define QUIET __attribute__((no_instrument_function))
#define NOINLINE __attribute__((noinline))

namespace {

int* volatile g_null;
char* volatile g_block;
volatile int g_value;
char g_secret[16];

NOINLINE int Fail(const char* how) {
  g_value = 3;
  if (strcmp(how, "throw") == 0) throw std::runtime_error("thrown");
  if (strcmp(how, "abort") == 0) free(g_block + 8);
  return *g_null;
}

NOINLINE int Inner(const char* how) {
  g_value = 2;
  memset(g_block, 'b', 5000);
  return Fail(how) + 1;
}

NOINLINE int Outer(const char* how) {
  g_value = 1;
  memset(g_block, 'a', 5000);
  return Inner(how) + 1;
}

NOINLINE void Begin() { g_value = 4; }

QUIET void* Wait(void*) {
  for (;;) pause();
}

}  // namespace

QUIET int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "null";
  RECRASH_NOTE("note", "noted");
  RECRASH_LOG("log");
  RECRASH_ATTACH("attached");
  if (strcmp(how, "mark") == 0) {
    snprintf(g_secret, sizeof g_secret, "%x%x", 0x5ec2e75, 0xf00d5);
    RECRASH_SENSITIVE(g_secret, sizeof g_secret);
  }
  pthread_t thread;
  pthread_create(&thread, nullptr, Wait, nullptr);
  char bytes[16];
  for (const char* name : {"input", "other"}) {
    const int file = open(name, O_RDONLY);
    if (read(file, bytes, sizeof bytes) < 0) return 2;
  }
  g_block = static_cast<char*>(malloc(5000));
  if (strcmp(how, "fork") != 0) return Outer(how);
  // The parent records before; only the child fails.
  Begin();
  if (fork() == 0) return Outer(how);
  wait(nullptr);
  return 0;
}
