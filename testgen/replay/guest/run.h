// One replay: a child of its own, or, under a debugger, this process.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_

#include <stddef.h>
#include <stdint.h>

#include "recrash/replay.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/restore.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

constexpr uint32_t kMostWorkers = 64;

struct Run {
  Observed* all_observed;  // shared with children; one for each worker
  Observed* observed;      // this worker's
  PreparedCall call;       // of the replay that is run
};

const plan::Frame* FindFrame(uint32_t index);

// Translates the argument words of all frames. Call it once.
void PrepareFrames();

// Replays the frame once; `text` gets one line on what happened. With `held` the replay says there that it waits for a
// tracer before the call.
Verdict RunFrame(const plan::Frame& frame, const Start& start, char* text, size_t size, plan::Slot* held = nullptr);

// This process is worker `number` from now on, below kMostWorkers: what its replays see is kept apart from the others'.
void UseObserved(uint32_t number);

// Seconds, of a clock that nobody sets.
double Now();

// This process is killed when its parent ends, which may have happened already.
void DieWith(long parent);

// Replays what the tool posts, several frames at a time, until it closes the queue.
void WorkOffQueue();

// Loads the plan's test library and runs its tests; gives their exit status.
int RunTestLibrary(int argc, char** argv);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_
