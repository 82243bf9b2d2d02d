// A file descriptor that closes itself.
#ifndef RECRASH_AGENT_BASE_FD_H_
#define RECRASH_AGENT_BASE_FD_H_

#include <unistd.h>

#include <utility>

namespace recrash {

class Fd {
 public:
  explicit Fd(int descriptor = -1) : descriptor_(descriptor) {}
  Fd(Fd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Fd() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int Release() { return std::exchange(descriptor_, -1); }
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_FD_H_
