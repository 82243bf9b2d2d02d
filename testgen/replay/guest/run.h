// One replay: a child of its own, or, under a debugger, this process.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_

#include <stddef.h>
#include <stdint.h>

#include "recrash/replay.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

const plan::Frame* FindFrame(uint32_t index);

// Translates the frames' argument words; once.
void PrepareFrames();

// Replays the frame once; `text` gets one line on what happened. With `held` the replay says there that it waits for a
// tracer before the call.
Verdict RunFrame(const plan::Frame& frame, const Start& start, char* text, size_t size,
                 plan::FrameResult* held = nullptr);

// Works off the plan's requests into the shared results, several at a time.
void RunRequests();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_
