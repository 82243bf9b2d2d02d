// Second chance at start-up: where the profile lies, what is patched by it, what is said about it. First chance
// (adaptive): everything is patched.
#ifndef RECRASH_AGENT_CLIENT_SECOND_CHANCE_H_
#define RECRASH_AGENT_CLIENT_SECOND_CHANCE_H_

namespace recrash::client {

// Once the client is live. The profile is $RECRASH_PROFILE, a file or a folder that holds PROGRAM.recrash-profile; else
// PROGRAM.recrash-profile beside the program. Set to nothing, RECRASH_PROFILE switches profiles off.
void StartSecondChance();

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_SECOND_CHANCE_H_
