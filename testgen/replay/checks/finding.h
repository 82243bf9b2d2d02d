// What checks the program found, and whether a build without that check fails there as it was recorded.
//
//   if (IsAny(finding) && StandsFor(finding, SIGSEGV, "")) ...
#ifndef RECRASH_TESTGEN_REPLAY_CHECKS_FINDING_H_
#define RECRASH_TESTGEN_REPLAY_CHECKS_FINDING_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash::replay {

constexpr char kAddressSanitizer[] = "AddressSanitizer";
constexpr char kUndefinedSanitizer[] = "UndefinedBehaviorSanitizer";
constexpr char kLibraryAssertion[] = "libstdc++";

struct Finding {
  char checker[32];  // one of these; empty: nobody found anything
  char text[256];    // "heap-use-after-free", "load of null pointer of type 'int'"
};

inline bool IsAny(const Finding& finding) { return finding.text[0] != 0; }

// `checker` is one of the names above. Uses no libc, as what is here runs between two processes' data.
void SetFinding(Finding* finding, const char* checker, const char* text);

// Returns whether the finding is of the kind of the recorded signal: a bad access, a heap that is damaged, a division
// by zero. `abort_message` is glibc's.
bool StandsFor(const Finding& finding, int recorded_signal, const char* abort_message);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_CHECKS_FINDING_H_
