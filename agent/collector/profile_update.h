// What a crash tells the profile: the functions that were on the stack of the failing thread.
//
// Here and not at the desk, because a program in the field learns from its first crash what to watch for the second.
#ifndef RECRASH_AGENT_COLLECTOR_PROFILE_UPDATE_H_
#define RECRASH_AGENT_COLLECTOR_PROFILE_UPDATE_H_

#include <string>

#include "agent/report/profile.h"
#include "agent/report/report.h"

namespace recrash {

// Functions with patchable entries to which an address on the failing thread's stack returns, innermost first; with its
// pc. Where that runs a handler, those of the stack that it interrupted, too. An inlined function's frame is that of
// the function into which it was inlined. A return address that a call which has ended left behind counts as well: to
// tell would take the program's call frame information, and one function more in a profile costs a line.
Profile FunctionsOnStack(const Report& report);

// Adds them to the file; makes it where there is none. Nothing happens when the program was not built in a
// second-chance mode, has none of them on its stack, or the folder may not be written.
Status UpdateProfile(const Report& report, const std::string& path);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_PROFILE_UPDATE_H_
