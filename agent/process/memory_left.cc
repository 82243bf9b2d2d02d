// Pages of files count as used, but the kernel drops them first. In a container the path of the group may not be there,
// since the container sees its own group as the root: then the root counts.
#include "agent/process/memory_left.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

namespace recrash {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number behind `name` in a text of lines, or at its beginning if there is no name. None for "max".
std::optional<uint64_t> NumberIn(const std::string& text, const std::string& name = "") {
  size_t at = name.empty() ? 0 : text.find(name);
  if (at == text.npos) return std::nullopt;
  at = text.find_first_not_of(" \t", at + name.size());
  uint64_t number = 0;
  if (at == text.npos || std::from_chars(text.data() + at, text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

// The files of one version of control groups.
struct Groups {
  const char* mark;  // before the path in /proc/self/cgroup
  const char* root;
  const char* limit;
  const char* usage;
  const char* of_files;
};

constexpr Groups kVersions[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "\ninactive_file "},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "\ntotal_inactive_file "}};

uint64_t LeftIn(const std::string& folder, const Groups& groups) {
  const auto limit = NumberIn(ReadText(folder + "/" + groups.limit));
  const auto usage = NumberIn(ReadText(folder + "/" + groups.usage));
  if (!limit || !usage) return UINT64_MAX;
  const uint64_t of_files = NumberIn(ReadText(folder + "/memory.stat"), groups.of_files).value_or(0);
  const uint64_t used = *usage - std::min(*usage, of_files);
  return *limit - std::min(*limit, used);
}

// The group, and all above it.
uint64_t LeftInGroups(const std::string& root, const Groups& groups) {
  const std::string own = ReadText(root + "/proc/self/cgroup");
  const size_t mark = own.find(groups.mark);
  if (mark == own.npos) return UINT64_MAX;
  const size_t begin = mark + std::string(groups.mark).size();
  std::string path = own.substr(begin, own.find('\n', begin) - begin);
  uint64_t left = UINT64_MAX;
  for (;;) {
    left = std::min(left, LeftIn(root + groups.root + path, groups));
    if (path.empty()) return left;
    path.resize(path.find_last_of('/') == path.npos ? 0 : path.find_last_of('/'));
  }
}

uint64_t LeftBelowLimit(int resource, const std::string& status, const char* name) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return UINT64_MAX;
  const uint64_t used = NumberIn(status, name).value_or(0) << 10;
  return limit.rlim_cur - std::min<uint64_t>(limit.rlim_cur, used);
}

}  // namespace

uint64_t MemoryLeft(const std::string& root) {
  const std::string status = ReadText(root + "/proc/self/status");
  uint64_t left =
      std::min(LeftBelowLimit(RLIMIT_AS, status, "\nVmSize:"), LeftBelowLimit(RLIMIT_DATA, status, "\nVmData:"));
  if (const auto free = NumberIn(ReadText(root + "/proc/meminfo"), "\nMemAvailable:"))
    left = std::min(left, *free << 10);
  for (const Groups& groups : kVersions) left = std::min(left, LeftInGroups(root, groups));
  return left;
}

}  // namespace recrash
