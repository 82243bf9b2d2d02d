// Finds the block of glibc's malloc around an address from the bytes in memory. The allocator itself cannot be asked:
// it may be in the middle of a change.
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

// Looks in [low, high), which must be mapped, for a block that begins at most 256 bytes before `address`: pointers to
// objects with several bases, or of make_shared, seldom point to the beginning. A wrong block does no harm: it is
// copied, nothing else.
RECRASH_SIGNAL_SAFE Block FindChunk(uint64_t address, uint64_t low, uint64_t high);

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_CHUNK_H_
