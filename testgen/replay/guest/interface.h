// What the test library sees of the replay.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_INTERFACE_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_INTERFACE_H_

namespace recrash::replay {

// Loads the plan's test library and runs its tests; gives their exit status.
int RunTestLibrary(int argc, char** argv);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_INTERFACE_H_
