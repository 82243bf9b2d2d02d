#include "testgen/replay/checks/finding.h"

#include <signal.h>
#include <string.h>

namespace recrash::replay {
namespace {

template <size_t kCount>
bool HasOneOf(const char* text, const char* const (&words)[kCount]) {
  for (const char* word : words) {
    if (strstr(text, word)) return true;
  }
  return false;
}

template <size_t kCount>
bool BeginsWithOneOf(const char* text, const char* const (&words)[kCount]) {
  for (const char* word : words) {
    if (strncmp(text, word, strlen(word)) == 0) return true;
  }
  return false;
}

// Each is of an access to memory, or of an address that is about to be used.
constexpr const char* kBadAccess[] = {"use-after",
                                      "buffer-overflow",
                                      "buffer-underflow",
                                      "container-overflow",
                                      "dynamic-stack",
                                      "SEGV",
                                      "null pointer",
                                      "misaligned address",
                                      "insufficient space",
                                      "out of bounds",
                                      "does not point to an object",
                                      "pointer index expression",
                                      "offset to ",
                                      "use of what was"};
constexpr const char* kBadBlock[] = {"double-free", "bad-free", "free of what was"};
constexpr const char* kBadDivision[] = {"division by zero", "cannot be represented"};
constexpr const char* kBadEnd[] = {"unreachable", "reached the end of a value-returning function"};

// How glibc begins what it says of a heap that is damaged, and of a stack.
constexpr const char* kDamage[] = {"free(): ",     "malloc(): ",   "realloc(): ",          "double free or corruption",
                                   "corrupted ",   "munmap_chunk", "malloc_consolidate()", "unaligned ",
                                   "*** stack sm", "*** buffer o"};

}  // namespace

void SetFinding(Finding* finding, const char* checker, const char* text) {
  size_t i = 0;
  for (; i + 1 < sizeof finding->checker && checker[i]; ++i) finding->checker[i] = checker[i];
  finding->checker[i] = 0;
  for (i = 0; i + 1 < sizeof finding->text && text && text[i]; ++i) finding->text[i] = text[i];
  finding->text[i] = 0;
}

bool StandsFor(const Finding& finding, int recorded_signal, const char* abort_message) {
  const bool is_access = strcmp(finding.checker, kLibraryAssertion) == 0 || HasOneOf(finding.text, kBadAccess);
  switch (recorded_signal) {
    case SIGSEGV:
    case SIGBUS:
      return is_access;
    case SIGFPE:
      return HasOneOf(finding.text, kBadDivision);
    case SIGILL:
    case SIGTRAP:
      return HasOneOf(finding.text, kBadEnd);
    case SIGABRT:
      return BeginsWithOneOf(abort_message, kDamage) && (is_access || HasOneOf(finding.text, kBadBlock));
    default:
      return false;
  }
}

}  // namespace recrash::replay
