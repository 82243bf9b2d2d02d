// The one list of the pass's modes: for the pass, the compiler wrappers, and what reads the mode in the note of a
// build.
#ifndef RECRASH_SHADOWSTACK_MODES_H_
#define RECRASH_SHADOWSTACK_MODES_H_

#include <stddef.h>

#include <string_view>

namespace recrash::abi {

enum class Mode {
  kReferences,                 // the argument words themselves
  kFull,                       // and copies of the fields that the function uses through them
  kSecondChance,               // nothing; but entries can be patched
  kReferencesAndSecondChance,  // the argument words, and entries can be patched
  kAdaptive,                   // the same, and the agent watches all of them from the start
};

struct ModeTraits {
  Mode mode;
  const char* name;  // as -recrash-mode= and the note have it
  const char* meaning;
  bool keeps_arguments;
  bool patchable;
  bool by_profile;  // only entries that a profile names are watched
};

inline constexpr ModeTraits kModes[] = {
    {Mode::kReferences, "references", "argument words", true, false, false},
    {Mode::kFull, "full", "argument words and used fields", true, false, false},
    {Mode::kSecondChance, "second-chance", "nothing but patchable entries", false, true, true},
    {Mode::kReferencesAndSecondChance, "references+second-chance", "argument words and patchable entries", true, true,
     true},
    {Mode::kAdaptive, "adaptive", "the same, watched without a profile", true, true, false},
};

constexpr const ModeTraits& TraitsOf(Mode mode) { return kModes[static_cast<size_t>(mode)]; }

// Returns null if there is no such mode.
constexpr const ModeTraits* ModeNamed(std::string_view name) {
  for (const ModeTraits& traits : kModes)
    if (name == traits.name) return &traits;
  return nullptr;
}

}  // namespace recrash::abi

#endif  // RECRASH_SHADOWSTACK_MODES_H_
