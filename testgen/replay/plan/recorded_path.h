// A path as text: absolute, without ".", ".." and empty parts. No part of it is taken for a symbolic link. The plan has
// the names of inputs so, and the guest looks paths up among them.
//
//   char path[4096];
//   NormalizePath("/home/ada", "../bob/./in.txt", path, sizeof path);   // "/home/bob/in.txt"
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_RECORDED_PATH_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_RECORDED_PATH_H_

#include <stddef.h>

namespace recrash {

namespace internal {

inline bool AppendParts(const char* path, char* out, size_t size, size_t* length) {
  while (*path) {
    const char* end = path;
    while (*end && *end != '/') ++end;
    const auto part = static_cast<size_t>(end - path);
    if (part == 2 && path[0] == '.' && path[1] == '.') {
      while (*length > 0 && out[--*length] != '/') {
      }
    } else if (part > 0 && !(part == 1 && path[0] == '.')) {
      if (*length + part + 2 > size) return false;
      out[(*length)++] = '/';
      for (size_t i = 0; i < part; ++i) out[(*length)++] = path[i];
    }
    path = *end ? end + 1 : end;
  }
  return true;
}

}  // namespace internal

// Writes `path` as seen from `folder`. Returns false if it does not fit. It neither allocates nor calls anything: the
// guest uses it while recorded memory is back. REQUIRES: `folder` is absolute.
inline bool NormalizePath(const char* folder, const char* path, char* out, size_t size) {
  size_t length = 0;
  if (*path != '/' && !internal::AppendParts(folder, out, size, &length)) return false;
  if (!internal::AppendParts(path, out, size, &length)) return false;
  if (length == 0) out[length++] = '/';
  out[length] = 0;
  return true;
}

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_RECORDED_PATH_H_
