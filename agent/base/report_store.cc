#include "agent/base/report_store.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "agent/base/signal_safe/part_file.h"

namespace recrash {
namespace {

// Takes "-digits" from the end. `count`: how many digits there have to be; 0: any.
bool TakeNumber(std::string_view* name, size_t count, std::string_view digits = "0123456789") {
  const size_t dash = name->rfind('-');
  if (dash == name->npos) return false;
  const std::string_view number = name->substr(dash + 1);
  if (number.empty() || number.size() > 20 || (count != 0 && number.size() != count) ||
      number.find_first_not_of(digits) != number.npos)
    return false;
  *name = name->substr(0, dash);
  return true;
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-+.").find(c) != std::string_view::npos;
}

// The program's name; empty if the stem is none. Time and process stand before the number that may follow.
std::string_view ProgramOf(std::string_view stem) {
  for (const bool numbered : {false, true}) {
    std::string_view name = stem;
    if (numbered && !TakeNumber(&name, 0, "0123456789abcdef")) break;
    if (TakeNumber(&name, 0) && TakeNumber(&name, 6) && TakeNumber(&name, 8)) return name;
  }
  return {};
}

}  // namespace

std::filesystem::path StoreDirectory() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (const std::string directory = variable("RECRASH_DIR"); !directory.empty()) return directory;
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty())
    return std::filesystem::path(state) / "recrash";
  return std::filesystem::path(variable("HOME")) / ".local" / "state" / "recrash";
}

std::optional<ReportFileName> ParseReportFileName(std::string_view name) {
  ReportFileName parsed;
  parsed.is_part = name.ends_with(signal_safe::kPartSuffix);
  if (parsed.is_part) name.remove_suffix(std::string_view(signal_safe::kPartSuffix).size());
  for (const char* suffix : {".rcr", ".rcraw", ".dmp"})
    if (name.ends_with(suffix)) parsed.suffix = suffix;
  if (parsed.suffix.empty()) return std::nullopt;
  parsed.stem = name.substr(0, name.size() - parsed.suffix.size());
  parsed.program = ProgramOf(parsed.stem);
  const bool is_ours = !parsed.program.empty() && std::ranges::all_of(parsed.program, IsPlain);
  return is_ours ? std::optional(parsed) : std::nullopt;
}

}  // namespace recrash
