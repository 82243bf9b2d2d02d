// /proc/self/maps, or smaps, line by line.
//
// Signal-safe: system calls and the stack. By syscall(), for open and read are where a pthread_cancel by another thread
// would end this one.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_MEMORY_MAPS_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_MEMORY_MAPS_H_

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/signal_safe/text.h"
#include "shadowstack/abi.h"

namespace recrash::signal_safe {

// One line of /proc/self/maps.
struct Map {
  uint64_t start;
  uint64_t end;
  uint64_t offset;
  bool readable;
  bool writable;
  bool shared;
  bool file;  // or [vdso]
  bool vdso;
  bool not_dumped;  // MADV_DONTDUMP; known of smaps alone
};

RECRASH_SIGNAL_SAFE inline bool ParseMap(const char* line, Map& map) {
  map.start = ReadNumber(line, 16);
  if (*line++ != '-') return false;
  map.end = ReadNumber(line, 16);
  if (*line++ != ' ') return false;
  map.readable = line[0] == 'r';
  map.writable = line[1] == 'w';
  map.shared = line[3] == 's';
  line += 5;
  map.offset = ReadNumber(line, 16);
  const char* bracket = strchr(line, '[');
  map.vdso = bracket != nullptr && strncmp(bracket, "[vdso]", 6) == 0;
  map.not_dumped = false;
  map.file = map.vdso || strchr(line, '/') != nullptr;
  return map.end > map.start;
}

// Lines of /proc/self/maps one after the other. A line is cut behind 255 bytes: only paths are so long.
class MapLines {
 public:
  RECRASH_SIGNAL_SAFE explicit MapLines(const char* path = "/proc/self/maps")
      : fd_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC))), begin_(0), end_(0) {}
  RECRASH_SIGNAL_SAFE ~MapLines() {
    if (fd_ >= 0) syscall(SYS_close, fd_);
  }
  RECRASH_SIGNAL_SAFE bool Next(Map& map) {
    char line[256];
    return NextLine(line) && ParseMap(line, map);
  }
  // Of smaps, where lines about a mapping follow its line; the flags are the last.
  RECRASH_SIGNAL_SAFE bool NextWithFlags(Map& map) {
    char line[256];
    if (!NextLine(line) || !ParseMap(line, map)) return false;
    do {
      if (!NextLine(line)) return false;
    } while (strncmp(line, "VmFlags:", 8) != 0);
    for (const char* flag = line; (flag = strchr(flag, ' ')) != nullptr;)
      if (strncmp(++flag, "dd", 2) == 0) map.not_dumped = true;
    return true;
  }

 private:
  RECRASH_SIGNAL_SAFE bool NextLine(char (&line)[256]) {
    size_t length = 0;
    for (;;) {
      if (begin_ == end_) {
        const long got = fd_ >= 0 ? syscall(SYS_read, fd_, buffer_, sizeof buffer_) : -1;
        if (got <= 0) return false;
        begin_ = 0;
        end_ = static_cast<size_t>(got);
      }
      const char c = buffer_[begin_++];
      if (c == '\n') break;
      if (length + 1 < sizeof line) line[length++] = c;
    }
    line[length] = 0;
    return true;
  }

  int fd_;
  size_t begin_;
  size_t end_;
  char buffer_[1024];
};

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_MEMORY_MAPS_H_
