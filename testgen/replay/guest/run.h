// One replay: in a child of its own or, under a debugger, in this process.
//
//   Start start;
//   start.sealed = true;
//   char text[1000];
//   const Verdict verdict = RunFrame(*FindFrame(3), start, text, sizeof text);
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_

#include <stddef.h>
#include <stdint.h>

#include "recrash/replay.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/restore.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/replay/sandbox/namespaces.h"

namespace recrash::replay {

constexpr uint32_t kMostWorkers = 64;

struct Run {
  Observed* all_observed;  // shared with children; one for each worker
  Observed* observed;      // this worker's
  uint32_t worker;
  const plan::Frame* given;    // the frame whose parameters a test has given for the next call; null: none
  plan::Word* words_before;    // its words as they were
  plan::Inquiries* inquiries;  // shared with the tool; null: nobody answers
  plan::Queue* queue;          // shared with the tool; null: it gives no work
  size_t queue_size;
  size_t slot_count;
  PreparedCall call;      // of the replay that is run
  Experiment experiment;  // of this worker
  double computed;        // processor time of the last replay in a process of its own, in seconds
  bool checks_place;      // it looks for bad accesses at the recorded place
  Namespaces namespaces;  // of all replays
  long parent;            // of a replay's process, by the number that it has there; 0: none there
  void* stack_end;        // what runs before the call of a replay that is started inside of them
};

// Returns the frame with that plan::Frame::index, or null.
const plan::Frame* FindFrame(uint32_t index);

// Translates the argument words of all frames, and makes room for what their replays see. Call it once.
void PrepareFrames();

// Before a test changes the words of the frame's call: they come back after it.
void KeepWords(const plan::Frame& frame);

// Writes the values that a test has given for the call. Returns false if that cannot be done; Observed::not_given then
// says why.
bool PutGiven();

// Replays the frame once. `text` gets one line on what happened. If `slot` is given, the replay does what the tool asks
// for there: it waits for a tracer before its call, and says so, or is an experiment.
Verdict RunFrame(const plan::Frame& frame, const Start& start, char* text, size_t size, plan::Slot* slot = nullptr);

// Where in the source a replay died, by the tool that started this process.
struct Answer {
  plan::Same same;   // as the recorded place
  char where[512];   // "Parser::Next at parser.cc:86"; empty: not known
  char caught[512];  // of an exception: mangled types that callers catch in this build, a blank behind each; "*": any
};
Answer AskTool(const Observed& observed, const plan::Frame& frame);

// Asks what was filled in at `state`, in world.run.inquiries. Returns false if no answer comes in so many seconds.
bool Ask(uint32_t* state, double seconds);

// Makes this process worker `number`: what its replays see is kept apart from what those of other workers see.
// REQUIRES: number < kMostWorkers.
void UseObserved(uint32_t number);

// Returns the seconds of a clock that nobody sets.
double Now();

// Has this process killed when its parent ends. If the parent has ended already, it exits.
void DieWith(long parent);

// Takes away what a replay's process shares with the tool. What runs then may write anywhere, and this process, which
// is outside the sandbox, and the tool act on what stands there.
void UnshareWithTool();

// Replays what the tool posts into the plan's queue, several frames at a time, until the tool closes the queue.
void WorkOffQueue();

// Loads the plan's test library and runs its tests. Returns their exit status.
int RunTestLibrary(int argc, char** argv);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RUN_H_
