// System calls that leave errno alone: it is the program's, lies in memory that a snapshot copies, and must be there as
// it was at the entry. Nor are they cancellation points.
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_SYSTEM_CALL_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_SYSTEM_CALL_H_

#include <stdint.h>
#include <sys/syscall.h>

#include "shadowstack/abi.h"

namespace recrash::snapshot {

template <typename T>
RECRASH_SIGNAL_SAFE inline uint64_t Word(T value) {
  return static_cast<uint64_t>(value);
}
template <typename T>
RECRASH_SIGNAL_SAFE inline uint64_t Word(T* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}
RECRASH_SIGNAL_SAFE inline uint64_t Word(decltype(nullptr)) { return 0; }

// The result, or a negative errno.
template <typename... Arguments>
RECRASH_SIGNAL_SAFE inline long Call(long number, Arguments... arguments) {
  static_assert(sizeof...(Arguments) <= 6);
  const uint64_t words[7] = {Word(arguments)...};
  register uint64_t fourth asm("r10") = words[3];
  register uint64_t fifth asm("r8") = words[4];
  register uint64_t sixth asm("r9") = words[5];
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(words[0]), "S"(words[1]), "d"(words[2]), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace recrash::snapshot

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_SYSTEM_CALL_H_
