// Finds functions by name without a trace in the program.
//
// Normal context only: a miss allocates and frees.
#ifndef RECRASH_AGENT_CLIENT_LOOK_UP_H_
#define RECRASH_AGENT_CLIENT_LOOK_UP_H_

#include <dlfcn.h>

namespace recrash::client {

// dlsym keeps the message of a miss for the next dlerror(), and the program would get it after a call that went well.
// The first dlerror() returns the message, the second frees it.
inline void* LookUp(void* where, const char* name) {
  void* found = dlsym(where, name);
  if (found == nullptr) {
    dlerror();
    dlerror();
  }
  return found;
}

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_LOOK_UP_H_
