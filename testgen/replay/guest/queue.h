// The replays that the verifying tool asks for (plan::Queue).
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_QUEUE_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_QUEUE_H_

namespace recrash::replay {

// Replays what the tool posts, several frames at a time, until it closes the queue.
void WorkOffQueue();

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_QUEUE_H_
