// Reads memory of this process that may not be mapped: another thread may unmap it meanwhile, or the address was no
// pointer at all. The kernel reads it, and fails where a plain load would crash.
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_CLIENT_RECORD_OWN_MEMORY_H_
#define RECRASH_AGENT_CLIENT_RECORD_OWN_MEMORY_H_

#include <stdint.h>
#include <sys/uio.h>

#include "agent/base/signal_safe/system_call.h"

namespace recrash::record {

// Reads `size` bytes from `address` on into `to`. Returns how many could be read, or a negative errno.
RECRASH_SIGNAL_SAFE inline long ReadOwn(uint64_t address, uint64_t size, const iovec* to, uint32_t count) {
  const iovec from = {reinterpret_cast<void*>(address), size};
  return signal_safe::Call(SYS_process_vm_readv, signal_safe::Call(SYS_getpid), to, count, &from, 1, 0);
}

RECRASH_SIGNAL_SAFE inline bool ReadOwn(uint64_t address, void* to, uint64_t size) {
  const iovec whole = {to, size};
  return ReadOwn(address, size, &whole, 1) == static_cast<long>(size);
}

}  // namespace recrash::record

#endif  // RECRASH_AGENT_CLIENT_RECORD_OWN_MEMORY_H_
