// Libraries that are loaded, entered, closed, and others in their place.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>

#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Fails;
using situation::Hidden;
using situation::Use;

using Enter = int (*)(int number, const char* name, int* place);

struct Library {
  void* handle = nullptr;
  Enter enter = nullptr;
  uintptr_t base = 0;
};

// Beside the program.
Library Load(const char* name) {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 20);
  std::strcpy(path + (length > 0 ? length : 0), name);
  Library library;
  library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    std::printf("%s\n", dlerror());
    return library;
  }
  library.enter = reinterpret_cast<Enter>(dlsym(library.handle, "Enter"));
  link_map* map = nullptr;
  dlinfo(library.handle, RTLD_DI_LINKMAP, &map);
  library.base = map->l_addr;
  return library;
}

Enter g_enter;

[[gnu::noinline]] int Call(int number, const char* name) {
  Use(name);
  return Add(g_enter(Hidden(number + 1), Hidden("entered"), Hidden<int*>(situation::g_place)));
}

[[gnu::noinline]] int Exchange(int number, const char* name) {
  Use(name);
  const Library first = Load(".liba.so");
  g_enter = first.enter;
  FailIf("loaded");
  int sum = Call(Hidden(number + 1), Hidden("calling the first"));
  dlclose(first.handle);
  const Library second = Load(".libb.so");
  std::printf("%s place\n", second.base == first.base ? "the same" : "another");
  std::fflush(stdout);
  g_enter = second.enter;
  FailIf("exchanged");
  sum += Call(Hidden(number + 2), Hidden("calling the second"));
  dlclose(second.handle);
  FailIf("closed");
  return Add(sum + Work(Hidden(number + 3), Hidden("all are closed")));
}

int main(int count, char** words) {
  situation::Begin(count, words);
  Add(Exchange(Hidden(1000), Hidden("exchanging")));
  return situation::End();
}
