// What happens at the recorded place while a replay runs: how often it is reached, and whether its function accesses
// memory in which no object lives. Such a call may return in one build and fail in another.
//
//   if (AskForPlace(inquiries, &place)) ...     // in the worker, once a replay has returned
//   SetPlaceTraps(place, options);              // in the child of one more replay, right before the call
//   if (PassTrap(context)) return;              // in its handler of SIGTRAP
//
// Only what is certain counts: a freed block, the gap behind a block (testgen/replay/heap/spare_heap.h), the stack
// below the stack pointer, a return address. An optimiser that knows that no pointer is null at the place makes
// `&end()->second` of it, which may lie anywhere. A block that was freed and given out again before the call is not
// told from a live one, nor a dead local from a live one that lies there now. Makes raw system calls only.
#ifndef RECRASH_TESTGEN_REPLAY_PLACE_PLACE_TRAPS_H_
#define RECRASH_TESTGEN_REPLAY_PLACE_PLACE_TRAPS_H_

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "testgen/replay/heap/spare_heap.h"
#include "testgen/replay/place/place_seen.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

// The code of the recorded place and its function in this build.
struct PlaceInBuild {
  plan::PlaceCode code[plan::kMostPlaceCode];
  uint32_t count;
  char where[256];  // "parser.cc:86"; empty: not known
  bool asked;
};

// Asks the tool, the first time. False: the place is not known in this build.
bool AskForPlace(plan::Inquiries* inquiries, PlaceInBuild* place);

struct TrapOptions {
  uint64_t (*live)(uint32_t module, uint64_t offset);  // the address of code; 0: it is not here
  uint64_t stack_start, stack_end;                     // of the thread that makes the call
  bool (*is_return_address)(uint64_t address);         // of the call, and of those around it
  bool uses_heap;
  SpareHeapOptions heap;
  PlaceSeen* seen;  // gets what is seen
};

// REQUIRES: recorded memory is back, and PassTrap is called for each SIGTRAP from now on.
void SetPlaceTraps(const PlaceInBuild& place, const TrapOptions& options);

// True: the signal was one of ours, and the call goes on.
bool PassTrap(ucontext_t* context);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_PLACE_PLACE_TRAPS_H_
