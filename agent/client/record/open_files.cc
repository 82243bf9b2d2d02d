#include "agent/client/record/open_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/signal_safe/system_call.h"
#include "agent/base/signal_safe/text.h"

namespace recrash::record {
namespace {

using signal_safe::Call;

// Descriptors from here on are left out: each number costs a system call.
constexpr int kHighest = 256;

// Returns how many descriptors there are (Linux 6.2; before that 0).
uint64_t CountDescriptors() {
  struct stat status = {};
  Call(SYS_newfstatat, AT_FDCWD, "/proc/self/fd", &status, 0);
  return static_cast<uint64_t>(status.st_size);
}

void ReadPath(int descriptor, LogPath& path) {
  char link[64];
  (signal_safe::Text(link) << "/proc/self/fd/").Decimal(static_cast<uint64_t>(descriptor));
  const long size = Call(SYS_readlinkat, AT_FDCWD, link, path.text, sizeof path.text - 1);
  path.text[size > 0 ? size : 0] = 0;
}

// Returns the file's place in the table. A file keeps its place, since most snapshots meet no new one.
uint32_t PathOf(VersionLog& log, int descriptor, const struct stat& status) {
  LogHeader& header = log.header();
  for (uint32_t i = 0; i < header.path_count; ++i) {
    if (log.paths()[i].inode == status.st_ino && log.paths()[i].device == status.st_dev) return i;
  }
  if (header.path_count == kMostPaths) return kMostPaths;
  LogPath& path = log.paths()[header.path_count];
  path.device = status.st_dev;
  path.inode = status.st_ino;
  ReadPath(descriptor, path);
  return header.path_count++;
}

}  // namespace

void ListOpenFiles(VersionLog& log, const int (&own)[3], LogFileList& list) {
  const uint64_t all = CountDescriptors();
  uint64_t found = sizeof own / sizeof own[0];
  list.count = 0;
  for (int descriptor = 0; descriptor < kHighest && list.count < kMostFiles; ++descriptor) {
    if (all != 0 && found >= all) return;
    if (descriptor == own[0] || descriptor == own[1] || descriptor == own[2]) continue;
    const long flags = Call(SYS_fcntl, descriptor, F_GETFL);
    struct stat status = {};
    if (flags < 0 || Call(SYS_fstat, descriptor, &status) != 0) continue;
    ++found;
    const long offset = S_ISREG(status.st_mode) ? Call(SYS_lseek, descriptor, 0, SEEK_CUR) : 0;
    LogFile& file = list.files[list.count++];
    file = {};
    file.descriptor = descriptor;
    file.flags = static_cast<int32_t>(flags);
    file.offset = offset > 0 ? static_cast<uint64_t>(offset) : 0;
    file.mode = status.st_mode;
    file.path = PathOf(log, descriptor, status);
    file.size = static_cast<uint64_t>(status.st_size);
  }
}

}  // namespace recrash::record
