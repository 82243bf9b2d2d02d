// Programs that crashed under `recrash run`, kept by their build-ids, so that their reports can be reproduced after the
// next build has taken their place.
//
//   KeepProgram("./server");                             // a copy, if it has a build-id
//   const std::string path = FindKeptProgram(build_id);  // ".../recrash/programs/3f2a…/server", or empty
//
// They lie in $XDG_CACHE_HOME/recrash/programs or ~/.cache/recrash/programs: at most 32, of 1 GiB together, the oldest
// go first. RECRASH_KEEP_PROGRAMS=0 turns it off. A folder that another user may write to is not used, and what is
// found has the build-id that was asked for: anybody who could put a file there could also replace the user's other
// programs.
#ifndef RECRASH_AGENT_ELF_KEPT_PROGRAMS_H_
#define RECRASH_AGENT_ELF_KEPT_PROGRAMS_H_

#include <string>

namespace recrash {

constexpr size_t kMostKeptPrograms = 32;

// What cannot be kept is not: no build-id, no folder of this user's, no room.
void KeepProgram(const std::string& path);

std::string FindKeptProgram(const std::string& build_id);

}  // namespace recrash

#endif  // RECRASH_AGENT_ELF_KEPT_PROGRAMS_H_
