#include "agent/elf/kept_programs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "agent/elf/elf_notes.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = 1u << 30;

bool IsOurs(const fs::path& path, mode_t type) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == type && status.st_uid == geteuid() &&
         !(status.st_mode & (S_IWGRP | S_IWOTH));
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Empty: there is none that only this user may write to.
fs::path Folder() {
  if (Variable("RECRASH_KEEP_PROGRAMS") == "0") return {};
  const fs::path cache = Variable("XDG_CACHE_HOME"), home = Variable("HOME");
  if (cache.is_absolute()) return IsOurs(cache, S_IFDIR) ? cache / "recrash/programs" : fs::path();
  return home.is_absolute() && IsOurs(home, S_IFDIR) ? home / ".cache/recrash/programs" : fs::path();
}

// It becomes the name of a folder.
bool IsBuildId(const std::string& text) {
  return text.size() >= 8 && text.size() <= 128 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool HasBuildId(const fs::path& path, const std::string& build_id) {
  const Result<std::string> found = ReadBuildId(path.string());
  return found && *found == build_id;
}

struct Kept {
  fs::path folder;
  fs::file_time_type time;
  uintmax_t size = 0;
};

void RemoveOldest(const fs::path& folder) {
  std::vector<Kept> all;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    Kept& kept = all.emplace_back(Kept{entry.path(), entry.last_write_time(ignored)});
    for (const fs::directory_entry& file : fs::directory_iterator(entry.path(), ignored))
      kept.size += std::min(file.file_size(ignored), kMostBytes);
  }
  std::ranges::sort(all, std::greater(), &Kept::time);
  uintmax_t size = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    size += all[i].size;
    if (i >= kMostKeptPrograms || size > kMostBytes) fs::remove_all(all[i].folder, ignored);
  }
}

}  // namespace

void KeepProgram(const std::string& path) {
  const fs::path folder = Folder();
  const Result<std::string> build_id = ReadBuildId(path);
  std::error_code error;
  if (folder.empty() || !build_id || !IsBuildId(*build_id) || fs::file_size(path, error) > kMostBytes || error) return;
  if (!FindKeptProgram(*build_id).empty()) return;
  fs::create_directories(folder, error);
  if (!IsOurs(folder, S_IFDIR)) return;
  fs::permissions(folder, fs::perms::owner_all, error);
  // Under another name until it is whole: two runs may keep it at a time.
  const fs::path part = folder / (*build_id + ".part" + std::to_string(getpid()));
  const bool is_whole = fs::create_directory(part, error) &&
                        fs::copy_file(path, part / fs::path(path).filename(), error) &&
                        HasBuildId(part / fs::path(path).filename(), *build_id);
  if (is_whole) fs::permissions(part / fs::path(path).filename(), fs::perms(0500), error);
  if (is_whole) fs::rename(part, folder / *build_id, error);
  fs::remove_all(part, error);
  RemoveOldest(folder);
}

std::string FindKeptProgram(const std::string& build_id) {
  const fs::path folder = Folder();
  if (folder.empty() || !IsBuildId(build_id)) return "";
  const fs::path own = folder / build_id;
  if (!IsOurs(folder, S_IFDIR) || !IsOurs(own, S_IFDIR)) return "";
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(own, error))
    if (IsOurs(file.path(), S_IFREG) && HasBuildId(file.path(), build_id)) return file.path().string();
  return "";
}

}  // namespace recrash
