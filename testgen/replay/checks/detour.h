// Leads calls of a function elsewhere, by a jump at its entry.
//
//   if (Detour(Number(free), Number(OurFree), &real_free)) ...   // OurFree may go on with real_free
//
// The instructions that the jump overwrites run from another place, so they must be of the few kinds with which
// functions of a sanitizer's runtime begin.
#ifndef RECRASH_TESTGEN_REPLAY_CHECKS_DETOUR_H_
#define RECRASH_TESTGEN_REPLAY_CHECKS_DETOUR_H_

#include <stdint.h>

namespace recrash::replay {

constexpr int kJumpSize = 5;

// How many bytes of whole instructions, at least kJumpSize, can be moved; 0: not known, or a jump, whose target comes
// in `target`.
int MovableBytes(const uint8_t* code, uint64_t address, uint64_t* target);

// Returns false, and changes nothing, where it cannot. `original` is what does the function's work from then on.
bool Detour(uint64_t function, uint64_t replacement, uint64_t* original);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_CHECKS_DETOUR_H_
