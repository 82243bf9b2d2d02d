// What every stub calls: saves the whole register state, calls recrash_on_entry, puts the state back.
#ifndef RECRASH_AGENT_CLIENT_SNAPSHOT_TRAMPOLINE_H_
#define RECRASH_AGENT_CLIENT_SNAPSHOT_TRAMPOLINE_H_

namespace recrash::client {

// Finds out which registers this processor and kernel have. Before the first stub runs.
void PrepareTrampoline();

using TrampolineCode = void (*)();
TrampolineCode Trampoline();  // not for calling from C++

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_SNAPSHOT_TRAMPOLINE_H_
