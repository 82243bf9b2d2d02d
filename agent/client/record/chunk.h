// The block of glibc's malloc around an address, told by what lies in memory: the allocator itself is not asked, for it
// may be in the middle of something.
//
// Signal-safe.
#ifndef RECRASH_AGENT_CLIENT_RECORD_CHUNK_H_
#define RECRASH_AGENT_CLIENT_RECORD_CHUNK_H_

#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::record {

struct Block {
  uint64_t start = 0;
  uint64_t size = 0;  // 0: there is none
};

// In [low, high), which is mapped. Found is a block that begins at most 256 bytes before `address`: an object with
// several bases, or one of make_shared, is seldom pointed to at its beginning. A mistake does no harm: it is memory to
// copy, no more.
RECRASH_SIGNAL_SAFE Block FindChunk(uint64_t address, uint64_t low, uint64_t high);

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_CHUNK_H_
