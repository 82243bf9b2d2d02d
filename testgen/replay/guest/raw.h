// What can be used once recorded memory is back: libc's data is then the dead process's, and errno lies in its thread
// control block.
//
//   if (Raw(SYS_chdir, path) < 0) Raw(SYS_chdir, "/");
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RAW_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RAW_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "agent/base/signal_safe/system_call.h"

namespace recrash::replay {

// Makes a system call. Returns its result, or -errno.
template <typename... Arguments>
long Raw(long number, Arguments... arguments) {
  return signal_safe::Call(number, arguments...);
}

inline uint64_t Number(const volatile void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

template <typename T>
T* Pointer(uint64_t address) {
  return reinterpret_cast<T*>(address);
}

// Copies bytes. The subject's memcpy may be instrumented, replaced, or not bound yet.
inline void Copy(uint64_t to, uint64_t from, uint64_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

// Copies text up to its NUL, or as much as fits. `out` always ends in a NUL. A null `text` is empty.
inline void CopyText(char* out, size_t size, const char* text) {
  size_t i = 0;
  for (; text && i + 1 < size && text[i]; ++i) out[i] = text[i];
  out[i] = 0;
}

[[noreturn]] inline void ExitNow(int status) {
  for (;;) Raw(SYS_exit_group, static_cast<uint64_t>(status));
}

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_RAW_H_
