#include "testgen/replay/guest/late_modules.h"

#include <link.h>
#include <string.h>

#include "agent/base/signal_safe/left_out.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/world.h"

extern "C" char** environ;

namespace recrash::replay {
namespace {

using Initialiser = void(int, char**, char**);

// What the dynamic section says of how a library begins and what it needs.
struct Dynamic {
  uint64_t init = 0;
  uint64_t array = 0;
  uint64_t array_bytes = 0;
  const char* strings = nullptr;
};

// The loader has made addresses of what the file has as offsets.
Dynamic Read(const link_map& library) {
  Dynamic dynamic;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_INIT) dynamic.init = library.l_addr + entry->d_un.d_ptr;
    if (entry->d_tag == DT_INIT_ARRAY) dynamic.array = library.l_addr + entry->d_un.d_ptr;
    if (entry->d_tag == DT_INIT_ARRAYSZ) dynamic.array_bytes = entry->d_un.d_val;
    if (entry->d_tag == DT_STRTAB) dynamic.strings = Pointer<const char>(entry->d_un.d_ptr);
  }
  return dynamic;
}

void Call(uint64_t initialiser) {
  world.late.arguments[0] = world.late.name;
  Pointer<Initialiser>(initialiser)(1, world.late.arguments, environ);
}

bool StopWaiting(const link_map& library) {
  for (int i = 0; i < world.late.count; ++i) {
    if (!world.late.waiting[i] || !world.late.waiting[i]->live.Contains(Number(library.l_ld))) continue;
    world.late.waiting[i] = nullptr;
    return true;
  }
  return false;
}

const link_map* FindLibrary(const link_map& any, const char* name) {
  const link_map* library = &any;
  while (library->l_prev) library = library->l_prev;
  for (; library; library = library->l_next) {
    const char* slash = strrchr(library->l_name, '/');
    if (strcmp(slash ? slash + 1 : library->l_name, name) == 0) return library;
  }
  return nullptr;
}

// Each library once, those that it needs before it.
void Initialise(const link_map& library) {
  if (!StopWaiting(library)) return;
  const Dynamic dynamic = Read(library);
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL && dynamic.strings; ++entry) {
    if (entry->d_tag != DT_NEEDED) continue;
    const link_map* needed = FindLibrary(library, dynamic.strings + entry->d_un.d_val);
    if (needed) Initialise(*needed);
  }
  if (dynamic.init) Call(dynamic.init);
  for (uint64_t at = 0; at < dynamic.array_bytes; at += sizeof(uint64_t)) {
    const uint64_t initialiser = *Pointer<uint64_t>(dynamic.array + at);
    if (initialiser != 0 && initialiser != UINT64_MAX) Call(initialiser);
  }
}

}  // namespace

bool IsLate(const plan::EntryState* state, const plan::Module* module) {
  if (!state || LeftOut("late_modules")) return false;
  const auto modules = TableOf<plan::Module>(world.plan->modules);
  for (const uint32_t late : TableOf<uint32_t>(state->not_loaded)) {
    if (&modules[late] == module) return true;
  }
  return false;
}

void AwaitLateModules(const plan::EntryState* state) {
  world.late.count = 0;
  if (LeftOut("late_initialisers")) return;
  for (const LiveModule& module : AllModules()) {
    if (world.late.count < kMostLate && IsLate(state, module.recorded))
      world.late.waiting[world.late.count++] = &module;
  }
}

bool AnyLate() { return world.late.count > 0; }

void InitialiseLate(void* handle) { Initialise(*static_cast<const link_map*>(handle)); }

}  // namespace recrash::replay
