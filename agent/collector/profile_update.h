// Adds the functions on the failing thread's stack to the profile. The collector does it, not the desk: a program in
// the field learns from its first crash what to watch for in the second.
#ifndef RECRASH_AGENT_COLLECTOR_PROFILE_UPDATE_H_
#define RECRASH_AGENT_COLLECTOR_PROFILE_UPDATE_H_

#include <string>

#include "agent/report/profile.h"
#include "agent/report/report.h"

namespace recrash {

// The functions with patchable entries that hold the failing thread's pc or a return address on its stack, innermost
// first. If the thread runs a signal handler, also those of the stack that the handler interrupted. An inlined function
// counts as the function that it was inlined into. A return address that an ended call left behind counts as well:
// telling it apart needs the program's call frame information, and costs one line in the profile if it is not.
Profile FunctionsOnStack(const Report& report);

// Adds these functions to the file, or makes it. Does nothing if the program was not built in a second-chance mode, has
// no such function on its stack, or the folder may not be written.
Status UpdateProfile(const Report& report, const std::string& path);

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_PROFILE_UPDATE_H_
