// deaths WAY CONTEXT SURROUNDINGS OTHERS: dies so, there, in them, with so many other threads.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "deaths.h"

namespace deaths {
namespace {

volatile bool g_never;

// Every other one waits in the kernel; the rest run.
void* Live(void* number) {
  while (!g_never) {
    if (reinterpret_cast<long>(number) % 2 == 0) usleep(1000000);
    usleep(100);
  }
  return nullptr;
}

void StartOthers(int count) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (long i = 0; i < count; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &small, Live, reinterpret_cast<void*>(i)) != 0) exit(93);
  }
}

int Run(char** words) {
  Box box = {};
  int status = 0;
  box.surround = FindSurroundings(words[3]);
  if (!Prepare(box, words[1]) || box.surround == nullptr) return 94;
  StartOthers(atoi(words[4]));
  return RunIn(words[2], box, status) ? status : 95;
}

// Before static objects of other files, and behind recrash.
__attribute__((constructor(200))) void RunBeforeMain(int count, char** words, char**) {
  if (count == 5 && strcmp(words[2], "constructor") == 0) _exit(Run(words));
}

}  // namespace
}  // namespace deaths

int main(int count, char** words) {
  if (count != 5) {
    fputs("deaths WAY CONTEXT SURROUNDINGS OTHERS\n", stderr);
    return 96;
  }
  if (strcmp(words[1], "CaughtInMain") != 0) return deaths::Run(words);
  try {
    return deaths::Run(words);
  } catch (const std::exception& caught) {
    deaths::Say("caught: %s\n", caught.what());
    return 3;
  }
}
