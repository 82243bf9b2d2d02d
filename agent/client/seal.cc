// Keeps what the client knows out of reach of the program's memory errors.
//
// A program that overruns a static array of its own writes over whatever the linker put behind it, and the client is
// linked last. Seen in swig 4.1.0: Breakpad's mutex was garbage, and the crash, instead of an end, a wait for ever. So
// the pages of what start-up fixed are read-only from then on. The overrun faults at the first of them: a crash like
// another, reported where it happens, as a program without us dies at the end of its data.
//
// One mprotect at start-up, one when a crash begins, none else: what changes in between lies behind the sealed pages.
// state.ld, which joins the client, lays out both and gives the addresses.
#include <sys/mman.h>

#include "agent/client/client.h"

namespace recrash::client {
namespace {

RECRASH_SIGNAL_SAFE bool ProtectState(int protection) {
  return mprotect(recrash_sealed_begin, static_cast<size_t>(recrash_sealed_end - recrash_sealed_begin), protection) ==
         0;
}

}  // namespace

void SealState() { ProtectState(PROT_READ); }

bool IsInSealedState(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return at >= reinterpret_cast<uintptr_t>(recrash_sealed_begin) &&
         at < reinterpret_cast<uintptr_t>(recrash_sealed_end);
}

bool UnsealState() { return ProtectState(PROT_READ | PROT_WRITE); }

}  // namespace recrash::client
