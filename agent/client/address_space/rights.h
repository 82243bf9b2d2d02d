// What may be done with a page: for a process without /proc. The kernel is asked to read it, and to write to it what is
// there already.
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_CLIENT_ADDRESS_SPACE_RIGHTS_H_
#define RECRASH_AGENT_CLIENT_ADDRESS_SPACE_RIGHTS_H_

#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::client {

// How many pages from `start` on can be read: at most `most`, and at most 1024.
RECRASH_SIGNAL_SAFE uint32_t ReadablePages(uint64_t start, uint32_t most);

// A page without content becomes one of zeros.
RECRASH_SIGNAL_SAFE bool IsWritablePage(uint64_t page);

}  // namespace recrash::client

#endif  // RECRASH_AGENT_CLIENT_ADDRESS_SPACE_RIGHTS_H_
