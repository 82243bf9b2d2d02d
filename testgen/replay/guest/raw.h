// System calls without libc: after recorded memory is back, libc's data is the dead process's, and errno lies in a
// thread control block that is not ours any more.
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_RAW_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_RAW_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "agent/base/signal_safe/system_call.h"

namespace recrash::replay {

// -errno on failure, as the kernel has it.
template <typename... Arguments>
long Raw(long number, Arguments... arguments) {
  return signal_safe::Call(number, arguments...);
}

inline uint64_t Number(const volatile void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

template <typename T>
T* Pointer(uint64_t address) {
  return reinterpret_cast<T*>(address);
}

// memcpy of the subject may be interposed, instrumented, or not yet bound; this needs nothing.
inline void Copy(uint64_t to, uint64_t from, uint64_t size) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

// Copies text up to a NUL or the end of `out`, which is then terminated.
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
