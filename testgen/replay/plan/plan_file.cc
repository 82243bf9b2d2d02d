#include "testgen/replay/plan/plan_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace recrash {
namespace {

std::span<const uint8_t> BytesOf(const uint32_t& number) {
  return {reinterpret_cast<const uint8_t*>(&number), sizeof number};
}

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

bool PlanFile::Create(uint64_t size) {
  fd_ = MakeInheritedFile("recrash-plan", size);
  return static_cast<bool>(fd_);
}

bool PlanFile::WriteAt(uint64_t offset, std::span<const uint8_t> bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return true;
}

void PlanFile::SetStart(uint32_t attempt, bool traced) const {
  WriteAt(offsetof(plan::Header, attempt), BytesOf(attempt));
  WriteAt(offsetof(plan::Header, traced), BytesOf(traced));
}

}  // namespace recrash
