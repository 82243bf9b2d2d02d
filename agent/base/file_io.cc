#include "agent/base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/base/signal_safe/part_file.h"

namespace recrash {
namespace {

constexpr size_t kPiece = 1 << 20;

}  // namespace

Error OutputFile::NotWritten(int problem) const {
  const std::string message = path_ + ": " + what_ + " not written: " + std::strerror(problem);
  const std::string how = what_ == "report" ? ", with RECRASH_DIR" : "";
  if (problem == ENOSPC || problem == EDQUOT)
    return {Errc::kRefused, message + "\n  free some space there, or choose another place" + how};
  if (problem == ENOENT || problem == EACCES || problem == EROFS)
    return {Errc::kRefused, message + "\n  choose a directory that exists and may be written" + how};
  return {Errc::kRefused, message};
}

Result<OutputFile> OutputFile::Create(const std::string& path, const std::string& what, mode_t mode) {
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  const int problem = descriptor >= 0 ? 0 : errno;
  OutputFile file(Fd(descriptor), path, what, problem == 0 ? std::move(temporary) : "");
  if (problem != 0) return file.NotWritten(problem);
  if (fchmod(descriptor, mode) != 0) return file.NotWritten(errno);
  return file;
}

Result<OutputFile> OutputFile::CreateNew(const std::string& path, const std::string& what) {
  using signal_safe::Claim;
  std::string part = path + signal_safe::kPartSuffix;
  int descriptor = -1;
  const Claim claim = signal_safe::ClaimName(AT_FDCWD, path.c_str(), part.c_str(), descriptor);
  const int problem = errno;
  if (claim == Claim::kTaken) return Error{Errc::kTaken, path + ": is there already, or about to be"};
  OutputFile file(Fd(descriptor), path, what, claim == Claim::kOurs ? std::move(part) : "");
  if (claim == Claim::kRefused) return file.NotWritten(problem);
  return file;
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::WriteAt(uint64_t offset, const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0 && problem_ == 0) {
    const ssize_t written = pwrite(fd_.get(), bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      problem_ = written < 0 ? errno : ENOSPC;
      return;
    }
    bytes += written;
    size -= written;
    offset += written;
    waiting_ += static_cast<size_t>(written);
  }
  if (!writes_through_ || waiting_ < kPiece) return;
  waiting_ = 0;
  sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

Status OutputFile::Keep() {
  if (problem_ != 0) return NotWritten(problem_);
  // close() may report what write() could not yet know (NFS, quotas). A copy keeps the lock of CreateNew meanwhile.
  Fd closing = std::exchange(fd_, Fd());
  const Fd locked(fcntl(closing.get(), F_DUPFD_CLOEXEC, 0));
  if (close(closing.Release()) != 0 && errno != EINTR) return NotWritten(errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return NotWritten(errno);
  temporary_.clear();
  return Ok{};
}

Result<InputFile> InputFile::Open(const std::string& path) {
  // O_NONBLOCK: a FIFO of that name must not hold the tool up.
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return Error{Errc::kMissing, path + ": no such report"};
    return Error{Errc::kRefused, path + ": cannot be read: " + std::strerror(errno)};
  }
  struct stat status;
  if (fstat(fd.get(), &status) != 0) return Error{Errc::kRefused, path + ": cannot be read: " + std::strerror(errno)};
  if (!S_ISREG(status.st_mode)) return Error{Errc::kRefused, path + ": is not a regular file, so not a report"};
  return InputFile(std::move(fd), path, static_cast<uint64_t>(status.st_size));
}

Result<InputFile> InputFile::InMemory(const std::string& path, std::span<const uint8_t> bytes) {
  Fd fd(memfd_create("recrash", MFD_CLOEXEC));
  size_t done = 0;
  while (fd && done < bytes.size()) {
    const ssize_t written = write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  if (!fd || done < bytes.size())
    return Error{Errc::kRefused, path + ": no memory to unpack it into: " + std::strerror(errno)};
  return InputFile(std::move(fd), path, bytes.size());
}

Status InputFile::ReadAt(uint64_t offset, void* out, size_t size) const {
  char* bytes = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t got = pread(fd_.get(), bytes, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Errc::kRefused, path_ + ": cannot be read: " + std::strerror(errno)};
    if (got == 0)
      return Damaged("ends at byte " + std::to_string(offset) + ", " + std::to_string(size) + " more are needed");
    bytes += got;
    size -= got;
    offset += got;
  }
  return Ok{};
}

Error InputFile::Damaged(const std::string& what) const {
  return Error{Errc::kDamaged, path_ + ": damaged report: " + what};
}

}  // namespace recrash
