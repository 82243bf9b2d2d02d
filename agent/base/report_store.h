// Where reports are kept on this machine, and what their files are called.
#ifndef RECRASH_AGENT_BASE_REPORT_STORE_H_
#define RECRASH_AGENT_BASE_REPORT_STORE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace recrash {

// $RECRASH_DIR, else $XDG_STATE_HOME/recrash, else ~/.local/state/recrash. It need not exist.
std::filesystem::path StoreDirectory();

// "server-20261119-091024-21705-2.rcr": program, time, process, and a number or digits where that is not enough.
struct ReportFileName {
  std::string program;   // "server"
  std::string stem;      // all but the suffix: the same for all files of a report
  std::string suffix;    // ".rcr", ".rcraw" or ".dmp"
  bool is_part = false;  // with ".part" behind it (part_file.h)

  bool is_report() const { return !is_part && suffix != ".dmp"; }
};

// Nothing if the agent does not name files so.
std::optional<ReportFileName> ParseReportFileName(std::string_view name);

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_REPORT_STORE_H_
