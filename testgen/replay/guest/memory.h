// Recorded memory outside the modules, mapped where it was, and entry states, which are laid over it.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_MEMORY_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_MEMORY_H_

#include <stdint.h>

#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

enum class Placement { kPlaced, kCollision };

// Maps heap, stacks, thread control blocks and mapped files at their addresses, and translates their words. If an
// address is occupied, it returns kCollision: the process has to start anew, with other addresses. Call it once, before
// the test library is loaded.
Placement PlaceMemory();

// Maps the recorded images of rebuilt modules: words that point to literals, and to what the new build does not have,
// point there.
void PlaceGhosts();

// Copies the recorded contents into these images again.
void FillGhosts();

// Maps pages without content in place of what is there. It makes one raw system call.
void MapAnew(uint64_t start, uint64_t end, int protection);

// Maps the recorded contents again: a replay in place has changed them.
void RefreshMemory();

// ---- Watching: which pages a replay touches

// Takes the pages of plan::Header::watched away, if there are any. Each comes back when it is touched. It makes raw
// system calls only. System calls that are given a page which nobody has touched yet fail.
void TakeWatchedAway();

// Returns whether the address lies in memory that is mapped as recorded.
bool IsRecordedMemory(uint64_t address);

// For the handler of SIGSEGV. True: a watched page lies there. It is back, and noted as touched.
bool GiveWatchedBack(uint64_t address);

// ---- Memory that the report does not have, though the process had it (plan::Header::absent)
//
// A replay that touches it says nothing about the bug, however it ends. So zeros lie there, in a file of no content:
// the kernel gives it a page wherever anybody looks, a system call among them, and the file shows that afterwards.

// Makes the file, in the process that judges.
void MakeAbsent();

// Maps it, in the process that will make the call. It makes raw system calls only.
void PlaceAbsent();

// Returns where such memory was touched first, by its address there, or 0. `failing` is the address of a failing
// access, or 0: nothing can be run there.
uint64_t FindTouchedAbsent(uint64_t failing);

// ---- Entry states: what was other at a frame's entry is laid over the memory of the crash ----

// Returns the entry state of the frame, or null.
const plan::EntryState* EntryStateOf(const plan::Frame& frame);

// Lays an entry state over the memory of the crash. REQUIRES: the modules' data is back, and the words that stay live
// are put back afterwards, since a page may hold both. Pages of a rebuilt module go to its recorded image, from which
// its objects are copied.
void PutEntryState(const plan::EntryState& state);

// Unmaps what the heap has grown by since the entry: when malloc grows it again, the kernel wants that place free.
void FreeHeapBeyond(const plan::EntryState& state);

// After a call in place: makes room for memory as at the crash.
void TakeEntryStateAway(const plan::EntryState& state);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_MEMORY_H_
