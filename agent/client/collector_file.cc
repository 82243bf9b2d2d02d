// The collector that is part of the program (recrash_instrument(app EMBED_COLLECTOR), -recrash-embed-collector): from
// the program's own data to a file that can be run. That file has no name: it lies in memory. Where such files may not
// be run (seccomp, vm.memfd_noexec), it lies in the report folder until it has started.
//
// Signal-safe.
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/base/signal_safe/system_call.h"
#include "agent/client/client.h"

// Not there in a program without it.
extern "C" __attribute__((weak, visibility("hidden"))) const char __recrash_embedded_collector[],
    __recrash_embedded_collector_end[];

#ifndef MFD_EXEC
#define MFD_EXEC 0x10
#endif

namespace recrash::client {

using signal_safe::Call;
using signal_safe::Text;

namespace {

RECRASH_SIGNAL_SAFE bool CopyCollectorTo(int file) {
  const char* at = __recrash_embedded_collector;
  while (at != __recrash_embedded_collector_end) {
    const ssize_t wrote = write(file, at, static_cast<size_t>(__recrash_embedded_collector_end - at));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    at += wrote;
  }
  return true;
}

}  // namespace

// Not by the address alone: of a symbol that is not there, gold makes the address of the program.
bool HasCollectorWithin() { return __recrash_embedded_collector != __recrash_embedded_collector_end; }

int CollectorInMemory() {
  // Before Linux 6.3 nobody knew MFD_EXEC.
  long file = Call(SYS_memfd_create, "recrash-collector", MFD_CLOEXEC | MFD_EXEC);
  if (file == -EINVAL) file = Call(SYS_memfd_create, "recrash-collector", MFD_CLOEXEC);
  if (file < 0 || CopyCollectorTo(static_cast<int>(file))) return static_cast<int>(file);
  close(static_cast<int>(file));
  return -1;
}

bool PutCollectorInto(const char* folder, char (&path)[1024]) {
  const char* why = nullptr;
  const int opened = OpenReportFolder(folder, why);
  if (opened < 0) return false;
  char name[64];
  (Text(name) << ".recrash-collector-").Hex(RandomNumber());
  Text(path) << folder << "/" << name;
  const int file = openat(opened, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0700);
  close(opened);
  if (file < 0) return false;
  const bool is_whole = CopyCollectorTo(file);
  close(file);  // one that is written to cannot be run
  if (!is_whole) unlink(path);
  return is_whole;
}

}  // namespace recrash::client
