// What a replay in another build saw at the recorded place, and what that says.
//
//   const Verdict verdict = JudgePlace(seen, "parser.cc:86", Verdict::kReturned, text, sizeof text);
#ifndef RECRASH_TESTGEN_REPLAY_PLACE_PLACE_SEEN_H_
#define RECRASH_TESTGEN_REPLAY_PLACE_PLACE_SEEN_H_

#include <stddef.h>
#include <stdint.h>

#include "recrash/replay.h"

namespace recrash::replay {

// An access to memory in which no object lives.
struct BadAccess {
  enum Kind : uint32_t { kNone = 0, kFreed, kBehind, kUnused, kDeadStack, kReturnAddress } kind;
  uint32_t line;  // of the access
  uint64_t address;
  uint64_t block;  // kFreed, kBehind: that block, and its size
  uint64_t size;
};

struct PlaceSeen {
  bool known;
  bool more;         // it was reached more often, and nobody looked
  uint64_t reached;  // how often
  BadAccess bad;
};

// Returns what a call proves that came to a good end, `verdict`, by what happened at the recorded place: kHarmless if
// it did there what is bad in any build. Adds to the text what was seen. `where` is the place, as "parser.cc:86".
Verdict JudgePlace(const PlaceSeen& seen, const char* where, Verdict verdict, char* text, size_t size);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_PLACE_PLACE_SEEN_H_
