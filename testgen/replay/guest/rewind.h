// Streams that a function is handed, put back to their beginning before it is called.
//
// At the crash a stream has been read, often to its end, and a parser that is called again finds nothing. Where it
// stood on entry is not known; most functions are handed streams that nobody has read from yet.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_REWIND_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_REWIND_H_

#include <stdint.h>

#include "testgen/replay/guest/call.h"

namespace recrash::replay {

constexpr int kMostStreams = 8;

// Of the subject's runtime; null where it has them not.
struct StreamFunctions {
  void (*clear)(uint64_t ios, int state);                        // std::ios::clear
  void* (*seek_from)(uint64_t stream, long offset, int origin);  // std::istream::seekg
  void (*rewind_file)(uint64_t file);
};

struct StreamPlace {
  uint64_t address;  // of the std::istream or FILE itself
  uint32_t kind;     // StreamKind of report.h
};

// Before memory is restored: needs dlsym.
void FindStreamFunctions();

// Does the subject have the functions for it?
bool CanRewind(uint32_t kind);

// With recorded memory back, on this process's own stack: what lies below the frame on the recorded one is the state in
// which the function will be called. False when that ended the replay (in process; a child does not come back).
bool RewindStreams(const StreamPlace* streams, int count, const CallState& call);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_REWIND_H_
