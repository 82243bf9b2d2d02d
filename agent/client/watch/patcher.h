// Patches the entries of the functions that a profile names, or of all, so that each runs recrash_on_entry first.
//
// Normal context: start-up, or a call of the program's. It takes no memory of the program's allocator and throws
// nothing. Without a profile nothing is read and nothing done.
#ifndef RECRASH_AGENT_CLIENT_WATCH_PATCHER_H_
#define RECRASH_AGENT_CLIENT_WATCH_PATCHER_H_

#include <stddef.h>
#include <stdint.h>

#include "agent/client/watch/stub.h"
#include "shadowstack/abi.h"

namespace recrash::watch {

struct PatchCounts {
  uint32_t wanted = 0;           // functions of the profile
  uint32_t patched = 0;          // entries: of one name there may be several
  uint32_t damaged = 0;          // lines that were not understood
  uint32_t missing = 0;          // functions that this build does not have
  uint32_t without_symbols = 0;  // functions of another build that need a symbol table which is not there
  uint32_t refused[static_cast<size_t>(Refusal::kCount)] = {};
};

enum class ProfileRead : uint8_t { kNone, kRead, kUnreadable };

// kNone: there is no such file.
ProfileRead PatchProfiled(const char* profile, PatchCounts* counts);

// First chance: every function of the loaded modules that has a patchable entry.
void PatchAll(PatchCounts* counts);

// record::SwitchEntries.
RECRASH_SIGNAL_SAFE uint64_t SwitchPatchedEntries(const uint64_t* counters, size_t count, bool patched, bool alone);

// Entries that have a stub.
RECRASH_SIGNAL_SAFE size_t PatchedEntries();
// Do the counters of stubs lie there, which are ours and not the program's?
RECRASH_SIGNAL_SAFE bool IsEntryCounters(uint64_t address);

// All entries are as they were compiled again. Stubs stay: a thread may be in one.
void UnpatchAll();

struct CodePlace {
  uint64_t pc;
  uint64_t sp;
};

// Where a thread stands in the program as it was compiled, when it stands in a stub, or in the first instructions of
// the trampoline, where the stack may have been full; else as it is.
RECRASH_SIGNAL_SAFE CodePlace CompiledPlace(CodePlace place);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_PATCHER_H_
