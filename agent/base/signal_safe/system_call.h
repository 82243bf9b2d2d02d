// System calls that leave errno alone: it is the program's, lies in memory that a snapshot copies, and must be there as
// it was at the entry. In a replay its thread control block is the dead process's. Nor are they cancellation points.
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_SYSTEM_CALL_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_SYSTEM_CALL_H_

#include <stdint.h>
#include <sys/syscall.h>

#include "shadowstack/abi.h"

namespace recrash::signal_safe {

template <typename T>
RECRASH_SIGNAL_SAFE inline uint64_t SystemCallWord(T value) {
  return static_cast<uint64_t>(value);
}
template <typename T>
RECRASH_SIGNAL_SAFE inline uint64_t SystemCallWord(T* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}
RECRASH_SIGNAL_SAFE inline uint64_t SystemCallWord(decltype(nullptr)) { return 0; }

// The result, or a negative errno.
template <typename... Arguments>
RECRASH_SIGNAL_SAFE inline long Call(long number, Arguments... arguments) {
  static_assert(sizeof...(Arguments) <= 6);
  const uint64_t words[7] = {SystemCallWord(arguments)...};
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

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_SYSTEM_CALL_H_
