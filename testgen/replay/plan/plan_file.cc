#include "testgen/replay/plan/plan_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

namespace recrash {

PlanFile& PlanFile::operator=(PlanFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

PlanFile::~PlanFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void PlanFile::SetAttempt(uint32_t attempt) const {
  WriteAt(descriptor_, &attempt, sizeof attempt, offsetof(plan::Header, attempt));
}

void PlanFile::ChangeFlags(uint32_t set, uint32_t clear) const {
  uint32_t all = 0;
  if (pread(descriptor_, &all, sizeof all, offsetof(plan::Header, flags)) != sizeof all) return;
  all = (all & ~clear) | set;
  WriteAt(descriptor_, &all, sizeof all, offsetof(plan::Header, flags));
}

bool WriteAt(int descriptor, const void* bytes, uint64_t size, uint64_t offset) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  while (size > 0) {
    const ssize_t written = pwrite(descriptor, at, size, static_cast<off_t>(offset));
    if (written <= 0) return false;
    at += written;
    size -= static_cast<uint64_t>(written);
    offset += static_cast<uint64_t>(written);
  }
  return true;
}

int MoveHigh(int descriptor) {
  if (descriptor < 0) return descriptor;
  for (const int low : {20000, 4000, 1000, 200, 100}) {
    const int high = fcntl(descriptor, F_DUPFD, low);
    if (high < 0) continue;
    close(descriptor);
    return high;
  }
  return descriptor;
}

}  // namespace recrash
