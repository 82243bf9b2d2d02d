// Reads memory of this process that may not be mapped: another thread may unmap it meanwhile, or the address was no
// pointer at all. The kernel reads it, and fails where a plain load would crash.
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_OWN_MEMORY_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_OWN_MEMORY_H_

#include <stdint.h>
#include <sys/uio.h>

#include "agent/base/signal_safe/system_call.h"

namespace recrash::signal_safe {

// Copies the bytes of `from` to `to`, up to the first that cannot be read. Returns how many, or a negative errno.
RECRASH_SIGNAL_SAFE inline long CopyOwn(const iovec* from, uint64_t from_count, const iovec* to, uint64_t to_count) {
  return Call(SYS_process_vm_readv, Call(SYS_getpid), to, to_count, from, from_count, 0);
}

// Reads `size` bytes from `address` on. Returns how many could be read.
RECRASH_SIGNAL_SAFE inline uint64_t ReadOwn(uint64_t address, void* to, uint64_t size) {
  const iovec from = {reinterpret_cast<void*>(address), size}, whole = {to, size};
  const long got = CopyOwn(&from, 1, &whole, 1);
  return got > 0 ? static_cast<uint64_t>(got) : 0;
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_OWN_MEMORY_H_
