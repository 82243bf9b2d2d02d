// Is a file, or a folder, this user's alone to change? A report goes into no folder of others, and no collector of
// theirs is run.
//
// Trusted are the process's own user (the effective one) and root. A group may write where it is its owner's own: of
// the same number, as useradd makes it. In a sticky folder, such as /tmp, others add files and change none of ours.
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_TRUSTED_PLACE_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_TRUSTED_PLACE_H_

#include <errno.h>
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

// The folder itself, and the link that leads to it if `path` is one.
RECRASH_SIGNAL_SAFE inline const char* WhyNotTrustedFolder(const char* path) {
  struct stat link, folder;
  if (lstat(path, &link) != 0 || stat(path, &folder) != 0) return "is not there, or not to be reached";
  if (!S_ISDIR(folder.st_mode)) return "is no folder";
  if (const char* why = S_ISLNK(link.st_mode) ? WhyNotTrusted(link) : nullptr) return why;
  return WhyNotTrusted(folder);
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_TRUSTED_PLACE_H_
