// NAME.part: a file whose writer is not done.
//
//   int file;
//   if (ClaimName(folder, "NAME", "NAME.part", file) == Claim::kOurs) ... write, rename to NAME, close
//
// Whoever makes NAME.part owns NAME: no two writers have it at a time, and whoever has it sees what is there already.
// That needs neither links nor locks of the file system. The lock tells a writer that lives from one that was killed;
// process numbers would not: each container has its own.
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_PART_FILE_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_PART_FILE_H_

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shadowstack/abi.h"

namespace recrash::signal_safe {

inline constexpr char kPartSuffix[] = ".part";

enum class Claim {
  kOurs,
  kTaken,    // there is a file of that name, or a writer of one
  kRefused,  // by the file system: errno says why
};

// Whether the writer of a part file is gone. Until the descriptor is closed no writer takes the file for its own.
inline bool IsDeadPart(int file) { return flock(file, LOCK_EX | LOCK_NB) == 0; }

// Locks a part file that was just made. False if it was taken for a dead writer's before: then it is gone. A file
// system that knows no locks is no hindrance: nobody takes a file for a dead writer's there.
RECRASH_SIGNAL_SAFE inline bool LockPart(int file) {
  if (flock(file, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status;
  return fstat(file, &status) != 0 || status.st_nlink != 0;
}

// Makes the part file. Names are those in `folder`, or paths.
RECRASH_SIGNAL_SAFE inline Claim ClaimName(int folder, const char* name, const char* part, int& file) {
  file = openat(folder, part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return errno == EEXIST ? Claim::kTaken : Claim::kRefused;
  const bool is_locked = LockPart(file);
  // Asked only now: until here, a writer that had the part before may have given its file the name.
  struct stat other;
  if (is_locked && fstatat(folder, name, &other, AT_SYMLINK_NOFOLLOW) != 0) return Claim::kOurs;
  if (is_locked) unlinkat(folder, part, 0);  // else it is gone, and another writer may have one of that name
  close(file);
  return Claim::kTaken;
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_PART_FILE_H_
