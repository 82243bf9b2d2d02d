// A profile as a value: the functions that second chance watches. The file is text, described in
// agent/base/signal_safe/profile_line.h, and whoever reads it takes it for hostile.
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
  // Of one run; absent where nothing is known.
  std::optional<uint64_t> entries = {};
  std::optional<uint64_t> microseconds = {};  // of processor time, that snapshots at this entry took
  std::optional<uint64_t> snapshots = {};
  std::optional<uint64_t> inclusive_ns = {};  // that a call takes
};

struct Profile {
  std::vector<ProfiledFunction> functions;
  size_t damaged = 0;  // lines that were not understood
};

// Lines that make no sense are counted and left out.
Profile ParseProfile(std::string_view text);
std::string ProfileText(const Profile& profile);

// One line a function and build. Of what both know those counters stay that are of the run with more entries: of one
// run they belong together.
void MergeProfile(const Profile& more, Profile* into);

// kMissing when there is no such file, kDamaged when it is no profile.
Result<Profile> ReadProfile(const std::string& path);
// Whole or not at all.
Status WriteProfile(const Profile& profile, const std::string& path);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_PROFILE_H_
