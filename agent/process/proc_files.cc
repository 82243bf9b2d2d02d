#include "agent/process/proc_files.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "agent/base/fd.h"
#include "agent/base/signal_safe/left_out.h"

namespace recrash {
namespace {

// The names in a folder of /proc that are numbers, ascending. None if it cannot be read.
std::optional<std::vector<int>> NumbersIn(const std::string& folder) {
  std::vector<int> numbers;
  std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  if (!dir) return std::nullopt;
  while (dirent* entry = readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    int number = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// The number after `label` at the beginning of a line.
uint64_t Field(std::string_view text, std::string_view label, int base) {
  size_t at = 0;
  while (at < text.size() && !text.substr(at).starts_with(label)) {
    at = text.find('\n', at);
    if (at == text.npos) return 0;
    ++at;
  }
  if (at >= text.size()) return 0;
  text.remove_prefix(at + label.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace

std::string ProcPath(pid_t pid, std::string_view name) {
  return "/proc/" + std::to_string(pid) + "/" + std::string(name);
}

std::string ReadProcFile(pid_t pid, std::string_view name) {
  Fd fd(open(ProcPath(pid, name).c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[64 << 10];
  ssize_t size;
  while (fd && (size = read(fd.get(), buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<size_t>(size));
  return text;
}

std::string ReadProcLink(pid_t pid, std::string_view name) {
  char buffer[4096];
  const ssize_t size = readlink(ProcPath(pid, name).c_str(), buffer, sizeof buffer);
  return size > 0 ? std::string(buffer, static_cast<size_t>(size)) : std::string();
}

std::vector<pid_t> ThreadIds(pid_t pid) { return NumbersIn(ProcPath(pid, "task")).value_or(std::vector<int>()); }

std::string ThreadName(pid_t pid, pid_t tid) {
  std::string name = ReadProcFile(pid, "task/" + std::to_string(tid) + "/comm");
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

void ParseFdInfo(std::string_view text, OpenFile* file) {
  file->offset = Field(text, "pos:", 10);
  file->flags = static_cast<int32_t>(Field(text, "flags:", 8));
}

std::vector<OpenFile> ReadOpenFiles(pid_t pid, std::vector<std::string>* losses) {
  std::vector<std::string> nobody;
  if (losses == nullptr) losses = &nobody;
  std::vector<OpenFile> files;
  const std::optional<std::vector<int>> descriptors = NumbersIn(ProcPath(pid, "fd"));
  if (!descriptors || Fails("descriptors")) {
    losses->push_back("open files: /proc does not list them");
    return files;
  }
  for (const int descriptor : *descriptors) {
    const std::string name = std::to_string(descriptor);
    OpenFile file;
    file.descriptor = descriptor;
    file.path = ReadProcLink(pid, "fd/" + name);
    if (file.path.empty() || Fails("descriptor_name")) {
      losses->push_back("an open file: /proc does not tell its name");
      continue;
    }
    const std::string position = ReadProcFile(pid, "fdinfo/" + name);
    if (position.empty() || Fails("descriptor_position"))
      losses->push_back("position and flags of an open file: /proc does not tell");
    else
      ParseFdInfo(position, &file);
    struct stat status;
    if (stat(ProcPath(pid, "fd/" + name).c_str(), &status) == 0) {
      file.mode = status.st_mode;
      file.size = static_cast<uint64_t>(status.st_size);
    }
    files.push_back(std::move(file));
  }
  return files;
}

uint64_t AuxiliaryValue(pid_t pid, uint64_t type) {
  const std::string text = ReadProcFile(pid, "auxv");
  Elf64_auxv_t entry;
  for (size_t at = 0; at + sizeof entry <= text.size(); at += sizeof entry) {
    std::memcpy(&entry, text.data() + at, sizeof entry);
    if (entry.a_type == type) return entry.a_un.a_val;
  }
  return 0;
}

bool IsDescendant(pid_t process, pid_t ancestor) {
  constexpr int kMostGenerations = 16;
  for (int generation = 0; process > 1 && generation < kMostGenerations; ++generation) {
    const std::string stat = ReadProcFile(process, "stat");
    const size_t bracket = stat.rfind(')');  // the name may have brackets itself
    if (bracket == std::string::npos || stat.size() < bracket + 4) return false;
    process = static_cast<pid_t>(std::strtol(stat.c_str() + bracket + 4, nullptr, 10));  // behind the state
    if (process == ancestor) return true;
  }
  return false;
}

uint64_t CpuTime(pid_t pid) {
  clockid_t clock = 0;
  timespec used = {};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<uint64_t>(used.tv_sec) * 1000000000 + static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace recrash
