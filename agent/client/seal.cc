// Protects the client's state from the program's memory errors.
//
// A program that overruns a static array overwrites what the linker put behind it, and the client is linked last. Seen
// in swig 4.1.0: Breakpad's mutex was overwritten, and the crash waited for ever. So the pages of what start-up fixed
// are read-only afterwards. An overrun faults at the first of them and is reported where it happens; without recrash
// the program would die at the end of its data.
//
// There is one mprotect at start-up and one when a crash begins. Variables that change in between lie behind the sealed
// pages. state.ld lays out both when it joins the client, and defines the addresses.
//
// Pages that become writable count against RLIMIT_DATA, and a program that dies may have used that up. Then shared
// pages, which do not count, take their place.
#include <string.h>
#include <sys/mman.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/client/client.h"

namespace recrash::client {
namespace {

RECRASH_SIGNAL_SAFE size_t SealedSize() { return static_cast<size_t>(recrash_sealed_end - recrash_sealed_begin); }

RECRASH_SIGNAL_SAFE bool ProtectState(int protection) {
  return mprotect(recrash_sealed_begin, SealedSize(), protection) == 0;
}

constexpr size_t kMostSealed = 64 << 10;

// One thread after the other: what is sealed is not there for a moment.
RECRASH_SIGNAL_SAFE bool ReplaceState() {
  static char copy[kMostSealed];
  static uint32_t turn;
  while (__atomic_exchange_n(&turn, 1, __ATOMIC_ACQ_REL) != 0) signal_safe::Pause(1000000);
  bool done = SealedSize() <= sizeof copy;
  if (done) memcpy(copy, recrash_sealed_begin, SealedSize());
  done = done && mmap(recrash_sealed_begin, SealedSize(), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  if (done) memcpy(recrash_sealed_begin, copy, SealedSize());
  __atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
  return done;
}

}  // namespace

void SealState() { ProtectState(PROT_READ); }

bool IsInSealedState(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return at >= reinterpret_cast<uintptr_t>(recrash_sealed_begin) &&
         at < reinterpret_cast<uintptr_t>(recrash_sealed_end);
}

bool UnsealState() { return ProtectState(PROT_READ | PROT_WRITE) || ReplaceState(); }

}  // namespace recrash::client
