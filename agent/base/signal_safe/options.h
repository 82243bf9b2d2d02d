// RECRASH_OPTIONS, what a user may ask of the agent: the one list of the options, read by client and collector.
//
//   RECRASH_OPTIONS=timeout=60,files=embed ./server
//
// name=value, separated by commas or colons; of a name that comes twice the last one counts.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_OPTIONS_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_OPTIONS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <string_view>

#include "agent/base/signal_safe/text.h"

namespace recrash::signal_safe {

struct Options {
  uint32_t timeout_seconds;
  uint32_t memory_mib;
  uint32_t throw_stack;
  uint32_t quiet;
  uint32_t exceptions_main;
  uint32_t embed_files;
  uint32_t logs;
  uint32_t snapshot_cpu;
  uint32_t snapshot_memory_mib;
  uint32_t snapshot_pause_ms;
  uint32_t snapshot_depth;
  uint32_t adaptive;
  uint32_t watchdog_seconds;
  uint32_t keep;
  uint32_t store_mib;
  uint32_t days;
};

constexpr uint32_t kAsBuilt = 2;  // Options::adaptive if the user does not set it

struct OptionRow {
  const char* name;
  uint32_t Options::* field;
  uint32_t initial;
  uint32_t least, most;  // a number beyond them is taken for the nearest
  const char* words[2];  // instead of numbers: those that stand for 0 and 1
};

inline constexpr OptionRow kOptions[] = {
    // Seconds for a report, all in all.
    {"timeout", &Options::timeout_seconds, 5, 1, UINT32_MAX, {}},
    // MiB of the program's memory beyond which a report keeps only what is near the failure.
    {"memory", &Options::memory_mib, 64, 0, 1 << 30, {}},
    // Bytes of stack that a throw keeps; 0: none.
    {"throw_stack", &Options::throw_stack, 32 << 10, 0, 1 << 20, {}},
    // 1: nothing is said on stderr.
    {"quiet", &Options::quiet, 0, 0, 1, {}},
    // main: an exception that only main catches is reported, too.
    {"exceptions", &Options::exceptions_main, 0, 0, 1, {"", "main"}},
    // What a report has of input files: names and hashes, or their contents, too.
    {"files", &Options::embed_files, 0, 0, 1, {"names", "embed"}},
    // 0: a report has nothing of standard error and of logs that the program names.
    {"logs", &Options::logs, 1, 0, 1, {}},
    // Percent of the CPU time that entry states may take; 0: there are none.
    {"snapshot_cpu", &Options::snapshot_cpu, 1, 0, 100, {}},
    // MiB that they may take; 0: there are none. The log numbers pages with 32 bits.
    {"snapshot_memory", &Options::snapshot_memory_mib, 64, 0, 16 << 10, {}},
    // Milliseconds of its thread's CPU time that one snapshot may take.
    {"snapshot_pause", &Options::snapshot_pause_ms, 5, 0, UINT32_MAX, {}},
    // How far copies follow pointers where the kernel tracks no writes; 0: there are no entry states there.
    {"snapshot_depth", &Options::snapshot_depth, 3, 0, 100, {}},
    // 1: every function that has a patchable entry is watched, without a profile; 0: none without one. By default 1 in
    // a build with -recrash-mode=adaptive.
    {"adaptive", &Options::adaptive, kAsBuilt, 0, 1, {}},
    // Seconds without RECRASH_ALIVE() after which a hang is reported; 0: none is.
    {"watchdog", &Options::watchdog_seconds, 0, 0, UINT32_MAX, {}},
    // What the report folder keeps (agent/store/retention.h); 0 of each: no limit. Reports of one signature.
    {"keep", &Options::keep, 3, 0, UINT32_MAX, {}},
    // MiB of all reports.
    {"store", &Options::store_mib, 128, 0, UINT32_MAX, {}},
    // Days since a report was written.
    {"days", &Options::days, 365, 0, UINT32_MAX, {}},
};

namespace options_internal {

// Returns false if it is no value of the option.
inline bool ReadValue(const OptionRow& row, std::string_view value, uint32_t* out) {
  if (row.words[0] != nullptr) {
    *out = value == row.words[1] ? 1 : 0;
    return *out == 1 || value == row.words[0];
  }
  if (value.empty() || value.find_first_not_of("0123456789") != value.npos) return false;
  const char* at = value.data();
  const uint64_t number = ReadNumber(at, 10, value.end());
  *out = at != value.end() ? row.most : static_cast<uint32_t>(std::clamp<uint64_t>(number, row.least, row.most));
  return true;
}

inline bool ReadOption(std::string_view text, Options* options) {
  const size_t name = std::min(text.find('='), text.size());
  for (const OptionRow& row : kOptions) {
    if (std::string_view(text.data(), name) != row.name) continue;
    uint32_t* const field = &(options->*row.field);
    if (name < text.size()) return ReadValue(row, {text.data() + name + 1, text.size() - name - 1}, field);
    // `quiet` and `adaptive` alone say yes.
    return row.most == 1 && row.words[0] == nullptr && ReadValue(row, "1", field);
  }
  return false;
}

}  // namespace options_internal

// Ignores each option that is unknown or has a wrong value, and calls `not_understood` with the text from that option
// on.
template <typename NotUnderstood>
Options ParseOptions(const char* text, NotUnderstood not_understood) {
  Options options = {};
  for (const OptionRow& row : kOptions) options.*row.field = row.initial;
  while (*text != 0) {
    const size_t size = strcspn(text, ",:");
    if (size != 0 && !options_internal::ReadOption({text, size}, &options)) not_understood(text);
    text += size;
    if (*text != 0) ++text;
  }
  return options;
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_OPTIONS_H_
