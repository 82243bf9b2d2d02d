// Reads memory of this process that may not be mapped: another thread may unmap it meanwhile, or the address was no
// pointer at all. The kernel reads it, and fails where a plain load would crash.
//
// Signal-safe, by system_call.h alone.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_OWN_MEMORY_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_OWN_MEMORY_H_

#include <errno.h>
#include <fcntl.h>
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

RECRASH_SIGNAL_SAFE inline uint64_t ReadOwnByPipe(uint64_t address, void* to, uint64_t size) {
  constexpr uint64_t kStep = 4096;
  int ends[2];
  if (Call(SYS_pipe2, ends, O_CLOEXEC) != 0) return 0;
  uint64_t done = 0;
  while (done < size) {
    const uint64_t at = address + done, left = kStep - at % kStep;
    const long put = Call(SYS_write, ends[1], at, size - done < left ? size - done : left);
    if (put <= 0 || Call(SYS_read, ends[0], static_cast<char*>(to) + done, put) != put) break;
    done += static_cast<uint64_t>(put);
  }
  Call(SYS_close, ends[0]);
  Call(SYS_close, ends[1]);
  return done;
}

// The same, also where process_vm_readv is forbidden, as in some containers: then through a pipe, page by page, which
// takes ten times as long.
RECRASH_SIGNAL_SAFE inline uint64_t ReadOwnAnyhow(uint64_t address, void* to, uint64_t size) {
  const iovec from = {reinterpret_cast<void*>(address), size}, whole = {to, size};
  const long got = CopyOwn(&from, 1, &whole, 1);
  if (got == -EPERM || got == -ENOSYS) return ReadOwnByPipe(address, to, size);
  return got > 0 ? static_cast<uint64_t>(got) : 0;
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_OWN_MEMORY_H_
