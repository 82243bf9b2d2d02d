// A profile as a value: the functions that second chance watches. The file is text; profile_line.h describes it. A
// reader treats it as hostile.
#ifndef RECRASH_AGENT_REPORT_PROFILE_H_
#define RECRASH_AGENT_REPORT_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/result.h"

namespace recrash {

struct ProfiledFunction {
  std::string build_id;            // lower-case hex; empty when not known
  std::optional<uint64_t> offset;  // of the entry, as the module's file has it
  std::string name;                // linkage name; empty when not known
  // Counters of one run; absent when nothing is known.
  std::optional<uint64_t> entries = {};
  std::optional<uint64_t> microseconds = {};  // of processor time that snapshots at this entry took
  std::optional<uint64_t> snapshots = {};
  std::optional<uint64_t> inclusive_ns = {};  // from entry to return
};

struct Profile {
  std::vector<ProfiledFunction> functions;
  size_t damaged = 0;  // lines that were not understood
};

// Lines that make no sense are counted and left out.
Profile ParseProfile(std::string_view text);
std::string ProfileText(const Profile& profile);

// Adds the functions of `more` to `into`, one line for each function and build. A function that both have keeps the
// counters of the run with more entries: all counters of a line come from one run.
void MergeProfile(const Profile& more, Profile* into);

// kMissing when there is no such file, kDamaged when it is no profile.
Result<Profile> ReadProfile(const std::string& path);
// Writes all of the file, or leaves the old one.
Status WriteProfile(const Profile& profile, const std::string& path);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_PROFILE_H_
