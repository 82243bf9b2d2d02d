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

// A place in pieces of memory.
class InPieces {
 public:
  RECRASH_SIGNAL_SAFE InPieces(const iovec* pieces, uint64_t count) : piece_(pieces), end_(pieces + count), at_(0) {
    SkipEmpty();
  }
  bool is_over() const { return piece_ == end_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(piece_->iov_base) + at_; }
  uint64_t left() const { return piece_->iov_len - at_; }
  RECRASH_SIGNAL_SAFE void Go(uint64_t size) {
    at_ += size;
    SkipEmpty();
  }

 private:
  RECRASH_SIGNAL_SAFE void SkipEmpty() {
    for (; piece_ != end_ && at_ >= piece_->iov_len; ++piece_) at_ = 0;
  }

  const iovec* piece_;
  const iovec* end_;
  uint64_t at_;
};

// As CopyOwn, through a pipe. For a moment the process has two descriptors more.
RECRASH_SIGNAL_SAFE inline long CopyOwnByPipe(const iovec* from, uint64_t from_count, const iovec* to,
                                              uint64_t to_count) {
  constexpr uint64_t kStep = 4096;  // a page at most: a pipe has room for it
  int ends[2];
  if (const long error = Call(SYS_pipe2, ends, O_CLOEXEC); error != 0) return error;
  long done = 0, error = 0;
  InPieces source(from, from_count), target(to, to_count);
  while (!source.is_over() && !target.is_over()) {
    uint64_t size = kStep - source.address() % kStep;
    if (source.left() < size) size = source.left();
    if (target.left() < size) size = target.left();
    const long put = Call(SYS_write, ends[1], source.address(), size);
    if (put <= 0 || Call(SYS_read, ends[0], target.address(), put) != put) {
      error = put < 0 ? put : -EFAULT;
      break;
    }
    done += put;
    source.Go(static_cast<uint64_t>(put));
    target.Go(static_cast<uint64_t>(put));
  }
  Call(SYS_close, ends[0]);
  Call(SYS_close, ends[1]);
  return done != 0 ? done : error;
}

// As CopyOwn, also where process_vm_readv is forbidden, as in some containers: then through a pipe, page by page, which
// takes ten times as long.
RECRASH_SIGNAL_SAFE inline long CopyOwnAnyhow(const iovec* from, uint64_t from_count, const iovec* to,
                                              uint64_t to_count) {
  const long got = CopyOwn(from, from_count, to, to_count);
  return got == -EPERM || got == -ENOSYS ? CopyOwnByPipe(from, from_count, to, to_count) : got;
}

// Reads `size` bytes from `address` on. Returns how many could be read.
RECRASH_SIGNAL_SAFE inline uint64_t ReadOwnAnyhow(uint64_t address, void* to, uint64_t size) {
  const iovec from = {reinterpret_cast<void*>(address), size}, whole = {to, size};
  const long got = CopyOwnAnyhow(&from, 1, &whole, 1);
  return got > 0 ? static_cast<uint64_t>(got) : 0;
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_OWN_MEMORY_H_
