// What this machine does not give to the sandbox of replays.
//
//   const std::string lacks = WhatTheSandboxLacks();
//   if (!lacks.empty()) fprintf(stderr, "recrash: %s\n", lacks.c_str());
#ifndef RECRASH_TESTGEN_REPLAY_HOST_SANDBOX_CHECK_H_
#define RECRASH_TESTGEN_REPLAY_HOST_SANDBOX_CHECK_H_

#include <string>

namespace recrash {

// Returns one line for people, or nothing if all is there. A process of its own tries what a replay will do.
std::string WhatTheSandboxLacks();

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_SANDBOX_CHECK_H_
