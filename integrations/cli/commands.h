// The subcommands. Each returns the exit code of the process (terminal.h).
#ifndef RECRASH_INTEGRATIONS_CLI_COMMANDS_H_
#define RECRASH_INTEGRATIONS_CLI_COMMANDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "testgen/suite/pipeline.h"

namespace recrash::cli {

// Which report, and where its program's files are.
struct ReportArguments {
  std::string report;  // path, name in the store, or its beginning; empty: the newest
  std::string program;
  std::vector<std::string> search_paths;

  SymbolOptions symbols() const { return {program, search_paths}; }
};

struct RunArguments {
  std::string directory;             // -o: store for this run
  bool once = false;                 // not again after a crash
  std::vector<std::string> command;  // PROGRAM ARGS…
};
int RunCommand(const RunArguments& arguments);

struct DumpArguments {
  int32_t pid = 0;
  int32_t thread = 0;     // whose stack comes first; 0: the main thread's
  std::string directory;  // -o: folder for the report; empty: the store
};
int DumpCommand(const DumpArguments& arguments);

struct ListArguments {
  bool all = false;  // each report, not each crash
  std::string json;
};
int ListCommand(const ListArguments& arguments);

struct PruneArguments {
  uint64_t keep = 0;  // these three: 0 if not asked for
  uint64_t days = 0;
  uint64_t mib = 0;
  bool dry_run = false;
  std::string json;
};
int PruneCommand(const PruneArguments& arguments);

struct ShowArguments {
  ReportArguments report;
  std::string json;
  bool strings = false;  // these: lists of what the report holds, in place of the failure
  bool environment = false;
  bool files = false;
  bool log = false;
  std::string save;  // into a new folder: contents of files, and logs

  bool lists() const { return strings || environment || files || log || !save.empty(); }
};
int ShowCommand(const ShowArguments& arguments);
int HoldingsCommand(const ShowArguments& arguments);  // of lists()

struct RedactArguments {
  ReportArguments report;  // with to_tests also a folder of tests
  std::string output;      // -o: a new file; with to_tests it may be empty
  bool to_tests = false;
  std::string frames;  // as ChooseStack has it
  bool environment = false;
  bool files = false;
  bool logs = false;
  bool notes = false;
  std::vector<std::string> texts;
};
int RedactCommand(const RedactArguments& arguments);

struct BundleArguments {
  ReportArguments report;
  std::string output;  // -o; empty: the report's name in the working directory
  bool minidump = true;
  std::string tracker;   // --for
  std::string max_size;  // "5MB"; empty: any
};
int BundleCommand(const BundleArguments& arguments);

struct SendArguments {
  ReportArguments report;
  std::string url;
  std::vector<std::string> fields;  // NAME=VALUE
  bool minidump = true;
  bool with_report = true;
  bool without_asking = false;
  double seconds = 300;
  std::string ca_file;
};
int SendCommand(const SendArguments& arguments);

struct TestsArguments {
  std::string fixed;       // verify: the build after the fix
  ReportArguments report;  // not of verify
  Request request;
  std::string json;
};
int GenerateCommand(const TestsArguments& arguments);
int VerifyCommand(const TestsArguments& arguments);
int ReproduceCommand(const TestsArguments& arguments);

struct WhyArguments {
  ReportArguments target;  // a report, or a folder of tests
  std::optional<uint32_t> frame;
  double seconds = 20;
  bool all = false;
  Request request;
  std::string json;
  std::string html;  // these two: a file, or "-"; empty: not asked for
  std::string sarif;
};
int WhyCommand(const WhyArguments& arguments);

struct MinimiseArguments {
  ReportArguments target;  // a report, or a folder of tests
  int64_t frame = -1;      // -1: FrameToMinimise
  double seconds = 10;
  uint64_t seed = 1;
  Request request;
  std::string json;
};
int MinimiseCommand(const MinimiseArguments& arguments);

struct ProfileArguments {
  std::vector<std::string> files;  // show: one
  std::string output;              // -o
  ReportArguments report;          // add
};
int ProfileShowCommand(const ProfileArguments& arguments);
int ProfileMergeCommand(const ProfileArguments& arguments);
int ProfileAddCommand(const ProfileArguments& arguments);

struct DebugArguments {
  ReportArguments target;  // a report, or a folder of tests
  uint32_t frame = 0;
  std::string debugger = "gdb";  // or "lldb"
  Request request;               // where tests have to be made first
  std::vector<std::string> debugger_arguments;
};
int DebugCommand(const DebugArguments& arguments);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_COMMANDS_H_
