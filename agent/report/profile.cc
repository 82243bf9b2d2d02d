#include "agent/report/profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "agent/base/file_io.h"
#include "agent/base/signal_safe/profile_line.h"

namespace recrash {
namespace {

constexpr std::string_view kHead = "# recrash profile 1\n";

ProfiledFunction FromLine(const signal_safe::ProfileLine& line) {
  return {std::string(line.build_id), line.offset,    std::string(line.name), line.entries,
          line.microseconds,          line.snapshots, line.inclusive_ns};
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }
std::string OrDash(const std::optional<uint64_t>& number) { return number ? std::to_string(*number) : "-"; }

std::string Hex(const std::optional<uint64_t>& number) {
  if (!number) return "-";
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(*number));
  return text;
}

// A function is known by its entry when its build is known, else by its name.
using Key = std::tuple<std::string, std::optional<uint64_t>, std::string>;

Key KeyOf(const ProfiledFunction& function) {
  const bool by_entry = !function.build_id.empty() && function.offset;
  return {function.build_id, by_entry ? function.offset : std::nullopt, by_entry ? "" : function.name};
}

void TakeCounters(const ProfiledFunction& more, ProfiledFunction* into) {
  if (!more.entries || (into->entries && *into->entries >= *more.entries)) return;
  into->entries = more.entries;
  into->microseconds = more.microseconds;
  into->snapshots = more.snapshots;
  into->inclusive_ns = more.inclusive_ns;
}

}  // namespace

Profile ParseProfile(std::string_view text) {
  Profile profile;
  signal_safe::ProfileLine line;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    const signal_safe::LineKind kind = signal_safe::NextProfileLine(at, end, &line);
    if (kind == signal_safe::LineKind::kDamaged) ++profile.damaged;
    if (kind == signal_safe::LineKind::kFunction) profile.functions.push_back(FromLine(line));
  }
  return profile;
}

std::string ProfileText(const Profile& profile) {
  std::string text(kHead);
  text += "# build-id offset linkage-name entries microseconds snapshots inclusive-ns\n";
  for (const ProfiledFunction& function : profile.functions)
    text += OrDash(function.build_id) + " " + Hex(function.offset) + " " + OrDash(function.name) + " " +
            OrDash(function.entries) + " " + OrDash(function.microseconds) + " " + OrDash(function.snapshots) + " " +
            OrDash(function.inclusive_ns) + "\n";
  return text;
}

void MergeProfile(const Profile& more, Profile* into) {
  std::map<Key, size_t> known;
  for (size_t i = 0; i < into->functions.size(); ++i) known.emplace(KeyOf(into->functions[i]), i);
  for (const ProfiledFunction& function : more.functions) {
    const auto [place, is_new] = known.emplace(KeyOf(function), into->functions.size());
    if (is_new) {
      into->functions.push_back(function);
      continue;
    }
    ProfiledFunction& same = into->functions[place->second];
    if (same.name.empty()) same.name = function.name;
    TakeCounters(function, &same);
  }
  into->damaged += more.damaged;
}

Result<Profile> ReadProfile(const std::string& path) {
  Result<InputFile> file = InputFile::Open(path);
  if (!file) return file.error();
  if (file->size() > signal_safe::kMostProfileBytes)
    return Error{Errc::kDamaged, path + ": not a profile: " + std::to_string(file->size()) + " bytes, of at most " +
                                     std::to_string(signal_safe::kMostProfileBytes)};
  std::string text(file->size(), '\0');
  if (Status status = file->ReadAt(0, text.data(), text.size()); !status) return status.error();
  Profile profile = ParseProfile(text);
  if (profile.functions.empty() && !text.empty() && !text.starts_with("# recrash profile"))
    return Error{Errc::kDamaged, path + ": not a profile: no line of it names a function"};
  return profile;
}

Status WriteProfile(const Profile& profile, const std::string& path) {
  // The file holds names of functions and nothing of the process, so others may read it.
  Result<OutputFile> file = OutputFile::Create(path, "profile", 0644);
  if (!file) return file.error();
  const std::string text = ProfileText(profile);
  file->WriteAt(0, text.data(), text.size());
  return file->Keep();
}

}  // namespace recrash
