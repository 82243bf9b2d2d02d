// One replay: a child of its own, or, under a debugger, this process.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_

#include <stddef.h>
#include <stdint.h>

#include "recrash/verdict.h"
#include "testgen/replay/plan/plan.h"

namespace recrash::replay {

const plan::Frame* FindFrame(uint32_t index);

// Translates the frames' argument words; once.
void PrepareFrames();

// Rewinds the stream that parameter `number` points to in the next run of the frame; false when it is none, or when the
// subject has not the functions for it.
bool RewindNext(const plan::Frame& frame, uint32_t number);

// What a frame starts from.
struct Start {
  uint32_t depth = 0;
  bool from_entry = false;            // as at its entry, where the plan has that; as at the crash otherwise
  bool sealed = false;                // in an empty folder, with no inputs but those that the report holds
  plan::FrameResult* held = nullptr;  // says there that it waits for a tracer before the call
};
Verdict RunFrame(const plan::Frame& frame, const Start& start, char* text, size_t size);

// Works off the plan's requests into the shared results, several at a time.
void RunRequests();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_
