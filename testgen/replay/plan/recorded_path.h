// A path as text: absolute, without ".", ".." and empty parts, taking no part of it for a symbolic link. Both the
// launcher, which knows the recorded names, and the subject, which looks a path up among them, have to agree on it.
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

// `path` as seen from `folder`, which is absolute; false when it does not fit. Neither allocates nor calls anything:
// the subject does this with the memory of the dead process in place.
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
