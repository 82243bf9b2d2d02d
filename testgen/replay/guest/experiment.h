// A replay of which a part of the memory is something else: what the tool posted with a slot is put there.
//
//   TakeExperiment(*slot, &world.run.call);   // in the worker, before the replay's process is made
//   PutExperiment(&world.run.call);           // in that process, right before the call
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_EXPERIMENT_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_EXPERIMENT_H_

#include <stddef.h>
#include <stdint.h>

#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

struct PreparedCall;

struct Experiment {
  plan::Piece* pieces;  // this process's own copy, with room for `room` of them; null: none was ever taken
  size_t room;
  size_t count;  // of the replay that comes
  plan::Fill fill;
  uint64_t zeros;  // the middle of memory that holds zeros; 0: there is none yet
};

// Copies what the slot asks for, since a replay's process does not share the queue.
void TakeExperiment(const plan::Slot& slot, PreparedCall* call);

// Fills memory and registers. It makes no call of the C library.
void PutExperiment(PreparedCall* call);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_EXPERIMENT_H_
