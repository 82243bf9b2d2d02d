// Where reports go: $RECRASH_DIR alone where it is set. Otherwise the first of several folders that can be written to:
// a home may be missing, full of somebody else's, or read-only, as it is for many services.
//
// Signal-safe, but for start-up.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/signal_safe/text.h"
#include "agent/base/signal_safe/trusted_place.h"
#include "agent/client/client.h"

namespace recrash::client {

using signal_safe::CopyText;
using signal_safe::Text;

namespace {

Text NextFolder() { return Text(g_state.folders[g_state.folder_count++]); }

// Makes the folder and what leads to it, mode 0700.
RECRASH_SIGNAL_SAFE void MakeDirectories(const char* path) {
  static char part[1024];
  CopyText(part, path);
  for (char* at = part + 1; *at != 0; ++at) {
    if (*at != '/') continue;
    *at = 0;
    mkdir(part, 0700);
    *at = '/';
  }
  mkdir(part, 0700);
}

RECRASH_SIGNAL_SAFE bool MayWriteInto(const char* path) {
  const char* why = nullptr;
  const int folder = OpenReportFolder(path, why);
  if (folder < 0) return false;
  close(folder);
  return access(path, W_OK | X_OK) == 0;
}

}  // namespace

void FindReportFolders() {
  if (const char* folder = getenv("RECRASH_DIR"); folder != nullptr && *folder != 0) {
    SetAbsolute(g_state.folders[g_state.folder_count++], folder);
    return;
  }
  const auto add_below = [](const char* variable, const char* below) {
    if (const char* folder = getenv(variable); folder != nullptr && *folder == '/') NextFolder() << folder << below;
  };
  add_below("XDG_STATE_HOME", "/recrash");
  add_below("HOME", "/.local/state/recrash");
  for (const char* folder : {"/var/tmp", "/tmp"}) (NextFolder() << folder << "/recrash-").Decimal(getuid());
}

const char* ReportFolder() {
  for (uint32_t i = 0; i < g_state.folder_count; ++i)
    if (MayWriteInto(g_state.folders[i])) return g_state.folders[i];
  return g_state.folders[0];
}

int OpenReportFolder(const char* path, const char*& why) {
  MakeDirectories(path);
  why = signal_safe::WhyNotTrustedFolder(path);
  if (why != nullptr) return -1;
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status;
  if (folder < 0 || fstat(folder, &status) != 0)
    why = "cannot be opened";
  else
    why = signal_safe::WhyNotTrusted(status);  // of what was opened: the name may lead elsewhere since
  if (why == nullptr) return folder;
  if (folder >= 0) close(folder);
  return -1;
}

}  // namespace recrash::client
