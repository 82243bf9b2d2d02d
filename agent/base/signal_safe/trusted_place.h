// Is a file, or a folder, this user's alone to change? A report goes into no folder of others, and no collector of
// theirs is run.
//
// All folders above count: who may rename one of them can put another in its place. Trusted are the process's own user
// (the effective one) and root. A group may write where it is its owner's own: of the same number, as useradd makes it.
// In a sticky folder, such as /tmp, others add files and change none of ours.
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_TRUSTED_PLACE_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_TRUSTED_PLACE_H_

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/signal_safe/text.h"
#include "shadowstack/abi.h"

namespace recrash::signal_safe {

// The answers are null for what is trusted, or else say why it is not, to stand behind its name.
RECRASH_SIGNAL_SAFE inline const char* WhyNotTrusted(const struct stat& status) {
  if (status.st_uid != 0 && status.st_uid != geteuid()) return "belongs to another user";
  const bool sticky_folder = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  const bool of_own_group = status.st_gid == status.st_uid;
  if (S_ISLNK(status.st_mode) || sticky_folder) return nullptr;  // a link has no mode of its own
  const mode_t others = of_own_group ? S_IWOTH : S_IWGRP | S_IWOTH;
  return (status.st_mode & others) != 0 ? "may be changed by others" : nullptr;
}

// The folders and links above an absolute path, as they are written there. Also trusted is the owner of the root
// folder: in a user namespace that is often none that the namespace knows.
RECRASH_SIGNAL_SAFE __attribute__((noinline)) inline const char* WhyNotTrustedAbove(const char* path) {
  struct stat root, status;
  char above[1024];
  CopyText(above, path);
  if (stat("/", &root) != 0) return "is not to be reached";
  for (char* at = above; *at != 0; ++at) {
    if (*at != '/' || at == above) continue;
    *at = 0;
    // What is no link is the same either way.
    for (bool is_link = true, follow = false; is_link; follow = true) {
      if ((follow ? stat(above, &status) : lstat(above, &status)) != 0) return "is not to be reached";
      is_link = S_ISLNK(status.st_mode);
      if (status.st_uid == root.st_uid) status.st_uid = 0;
      if (status.st_uid != 0 && status.st_uid != geteuid()) return "lies below a folder or link of another user";
      if (WhyNotTrusted(status) != nullptr) return "lies below a folder that may be changed by others";
    }
    *at = '/';
  }
  return nullptr;
}

// The same where links lead elsewhere. Without /proc only links and folders that the path itself names are looked at.
RECRASH_SIGNAL_SAFE __attribute__((noinline)) inline const char* WhyNotTrustedAboveTarget(const char* path) {
  const int folder = open(path, O_PATH | O_CLOEXEC);
  if (folder < 0) return "is not to be reached";
  char link[64], target[1024];
  (Text(link) << "/proc/self/fd/").Decimal(static_cast<uint64_t>(folder));
  const ssize_t length = readlink(link, target, sizeof target - 1);
  close(folder);
  if (length <= 0) return nullptr;
  target[length] = 0;
  if (strcmp(target, path) == 0) return nullptr;  // its own way has been looked at
  return target[0] == '/' ? WhyNotTrustedAbove(target) : nullptr;
}

// The folder itself, the link that leads to it if `path` is one, and all that is above.
RECRASH_SIGNAL_SAFE inline const char* WhyNotTrustedFolder(const char* path) {
  struct stat link, folder;
  if (lstat(path, &link) != 0 || stat(path, &folder) != 0) return "is not there, or not to be reached";
  if (!S_ISDIR(folder.st_mode)) return "is no folder";
  if (const char* why = S_ISLNK(link.st_mode) ? WhyNotTrusted(link) : nullptr) return why;
  if (const char* why = WhyNotTrusted(folder)) return why;
  const char* why = WhyNotTrustedAbove(path);
  return why != nullptr ? why : WhyNotTrustedAboveTarget(path);
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_TRUSTED_PLACE_H_
