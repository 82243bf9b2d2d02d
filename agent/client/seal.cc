// Protects the client's state from the program's memory errors.
//
// A program that overruns a static array overwrites what the linker put behind it, and the client is linked last. Seen
// in swig 4.1.0: Breakpad's mutex was overwritten, and the crash waited for ever. So the pages of what start-up fixed
// are read-only afterwards. An overrun faults at the first of them and is reported where it happens; without recrash
// the program would die at the end of its data.
//
// There is one mprotect at start-up and one when a crash begins. Variables that change in between lie behind the sealed
// pages. state.ld lays out both when it joins the client, and defines the addresses.
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
