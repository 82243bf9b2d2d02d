// System calls that do not touch errno. It is the program's: a snapshot copies the memory in which it lies, which must
// be as it was at the entry; in a replay it lies in the thread control block of the dead process. These calls are no
// cancellation points either.
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

// Returns what the kernel returns: the result, or a negative errno.
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
