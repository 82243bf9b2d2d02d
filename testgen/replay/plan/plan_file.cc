#include "testgen/replay/plan/plan_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace recrash {
namespace {

// To a number above those that programs use.
Fd MoveHigh(Fd file) {
  for (const int low : {20000, 4000, 1000, 200, 100}) {
    Fd high(fcntl(file.get(), F_DUPFD, low));
    if (high) return high;
  }
  return file;
}

}  // namespace

Fd MakeInheritedFile(const char* name, uint64_t size) {
  Fd file = MoveHigh(Fd(memfd_create(name, 0)));
  return file && ftruncate(file.get(), static_cast<off_t>(size)) == 0 ? std::move(file) : Fd();
}

bool WriteAt(const Fd& file, uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return true;
}

}  // namespace recrash
