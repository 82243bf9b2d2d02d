// Patches the entries of functions, those of a profile or all, so that each calls recrash_on_entry first.
//
//   PatchCounts counts;
//   PatchProfiled("server.recrash-profile", &counts);
//
// Normal context (start-up, or a call of the program's) but for what is marked signal-safe. It takes no memory from the
// program's allocator and throws nothing.
#ifndef RECRASH_AGENT_CLIENT_WATCH_PATCHER_H_
#define RECRASH_AGENT_CLIENT_WATCH_PATCHER_H_

#include <stddef.h>
#include <stdint.h>

#include "agent/client/watch/stub.h"
#include "shadowstack/abi.h"

namespace recrash::watch {

struct PatchCounts {
  uint32_t wanted = 0;           // functions of the profile
  uint32_t patched = 0;          // entries: one name may have several
  uint32_t damaged = 0;          // lines that were not understood
  uint32_t missing = 0;          // functions that this build does not have
  uint32_t without_symbols = 0;  // functions of another build, and there is no symbol table to find them
  uint32_t refused[static_cast<size_t>(Refusal::kCount)] = {};
};

enum class ProfileRead : uint8_t { kNone, kRead, kUnreadable };

// Patches the functions of the file `profile`. kNone: there is no such file.
ProfileRead PatchProfiled(const char* profile, PatchCounts* counts);

// Patches every function of the loaded modules that has a patchable entry (adaptive).
void PatchAll(PatchCounts* counts);

// Switches patched entries to their stubs or back; record/sweep.h says how (SwitchEntries).
RECRASH_SIGNAL_SAFE uint64_t SwitchPatchedEntries(const uint64_t* counters, size_t count, bool patched, bool alone);

// How many entries have a stub.
RECRASH_SIGNAL_SAFE size_t PatchedEntries();
// Is this the memory of the stubs' counters, which is recrash's and not the program's?
RECRASH_SIGNAL_SAFE bool IsEntryCounters(uint64_t address);

// Puts all entries back as they were compiled. Stubs stay: a thread may be in one.
void UnpatchAll();

struct CodePlace {
  uint64_t pc;
  uint64_t sp;
};

// Translates the place of a thread that is in a stub, or in the first instructions of the trampoline (where the stack
// may overflow), to its place in the compiled program. Other places stay as they are.
RECRASH_SIGNAL_SAFE CodePlace CompiledPlace(CodePlace place);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_PATCHER_H_
