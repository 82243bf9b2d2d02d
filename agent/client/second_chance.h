// Decides at start-up which entries are watched: those of a profile (second chance), or all (adaptive). Says on stderr
// what could not be.
#ifndef RECRASH_AGENT_CLIENT_SECOND_CHANCE_H_
#define RECRASH_AGENT_CLIENT_SECOND_CHANCE_H_

namespace recrash::client {

// Requires that the client is live. The profile is $RECRASH_PROFILE, a file or a folder that holds
// PROGRAM.recrash-profile; else PROGRAM.recrash-profile beside the program. An empty RECRASH_PROFILE disables profiles.
void StartSecondChance();

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_SECOND_CHANCE_H_
