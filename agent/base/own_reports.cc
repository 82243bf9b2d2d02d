#include "agent/base/own_reports.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "agent/base/fd.h"
#include "agent/base/file_io.h"
#include "agent/base/sha256.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

// One report a line. Beyond 16,131 reports the list begins anew, and the one before it is kept.
constexpr size_t kLine = 65;
constexpr off_t kLongest = 1 << 20;

// A folder or list that another user may write to says nothing; and what is another's is not written to.
bool IsOurs(const struct stat& status) { return status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH)); }

bool IsOurFolder(const std::string& path) {
  struct stat status;
  return path.starts_with('/') && stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && IsOurs(status);
}

// Beside the default store. Not $RECRASH_DIR: that may be another one when the report is read.
fs::path ListIn(const std::string& state_home, const std::string& home) {
  if (IsOurFolder(state_home)) return fs::path(state_home) / "recrash/own-reports";
  if (IsOurFolder(home)) return fs::path(home) / ".local/state/recrash/own-reports";
  return {};
}

std::string Variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const size_t end = std::min(environment.find('\0'), environment.size() - 1);
    if (environment.starts_with(name) && environment.substr(name.size()).starts_with('='))
      return std::string(environment.substr(name.size() + 1, end - name.size() - 1));
    environment.remove_prefix(end + 1);
  }
  return "";
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

fs::path List() { return ListIn(Variable("XDG_STATE_HOME"), Variable("HOME")); }

fs::path Older(const fs::path& list) { return list.string() + ".1"; }

std::string HashOf(const std::string& path) {
  const Result<InputFile> file = InputFile::Open(path);
  if (!file) return "";
  Sha256 hash;
  std::vector<uint8_t> piece(1 << 20);
  for (uint64_t at = 0; at < file->size(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(piece.size(), file->size() - at));
    if (!file->ReadAt(at, piece.data(), piece.size())) return "";
    hash.Append(piece);
  }
  return hash.Finish();
}

bool IsOurList(const Fd& file) {
  struct stat status;
  return file && fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && IsOurs(status);
}

bool Has(const fs::path& list, const std::string& line) {
  const Fd file(open(list.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!IsOurList(file)) return false;
  std::string text(2 * kLongest, '\0');
  const ssize_t size = read(file.get(), text.data(), text.size());
  for (size_t at = 0; size > 0 && at + kLine <= static_cast<size_t>(size); at += kLine)
    if (text.compare(at, kLine, line) == 0) return true;
  return false;
}

void Note(const fs::path& list, const std::string& path) {
  const std::string line = HashOf(path) + "\n";
  if (list.empty() || line.size() != kLine) return;
  std::error_code ignored;
  if (fs::create_directories(list.parent_path(), ignored))
    fs::permissions(list.parent_path(), fs::perms(0700), ignored);
  const Fd file(open(list.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!IsOurList(file) || write(file.get(), line.data(), line.size()) < 0) return;
  struct stat status;
  if (fstat(file.get(), &status) == 0 && status.st_size >= kLongest) fs::rename(list, Older(list), ignored);
}

}  // namespace

void NoteOwnReport(const std::string& path, std::string_view environment) {
  Note(ListIn(Variable(environment, "XDG_STATE_HOME"), Variable(environment, "HOME")), path);
}

void NoteOwnReport(const std::string& path) { Note(List(), path); }

bool IsOwnReport(const std::string& path) {
  const fs::path list = List();
  const std::string line = HashOf(path) + "\n";
  return !list.empty() && line.size() == kLine && (Has(list, line) || Has(Older(list), line));
}

}  // namespace recrash
