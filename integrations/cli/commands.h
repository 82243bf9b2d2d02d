// The subcommands. Each returns the exit code of the process (terminal.h).
#ifndef RECRASH_INTEGRATIONS_CLI_COMMANDS_H_
#define RECRASH_INTEGRATIONS_CLI_COMMANDS_H_

#include <string>
#include <vector>

#include "testgen/suite/material.h"

namespace recrash::cli {

struct RunArguments {
  std::string directory;             // -o: store for this run
  bool once = false;                 // not again after a crash
  std::vector<std::string> command;  // PROGRAM ARGS…
};
int RunCommand(const RunArguments& arguments);

struct ListArguments {
  std::string json;
};
int ListCommand(const ListArguments& arguments);

struct ShowArguments {
  ReportArguments report;
  std::string json;
};
int ShowCommand(const ShowArguments& arguments);

struct GenerateArguments {
  ReportArguments report;
  std::string output;  // -o
  bool force = false;
  uint32_t max_frames = 200;
};
int GenerateCommand(const GenerateArguments& arguments);

enum class Derive { kNeeded, kAll, kNone };

struct VerifyOptionsGiven {
  std::string json;
  Derive derive = Derive::kNeeded;
  double seconds_per_frame = 10;
  uint32_t max_frames = 200;
  uint32_t runs = 3;
  uint32_t jobs = 0;  // 0: as many as there are processors
  bool build = true;
  bool same_bases = true;
};

struct VerifyArguments {
  std::string directory;
  std::string program;
  VerifyOptionsGiven options;
};
int VerifyCommand(const VerifyArguments& arguments);

struct ReproduceArguments {
  GenerateArguments generate;
  bool rerun = false;
  double rerun_seconds = 60;
  VerifyOptionsGiven verify;
};
int ReproduceCommand(const ReproduceArguments& arguments);

struct ProfileArguments {
  std::vector<std::string> files;  // show: one
  std::string output;              // -o
  ReportArguments report;          // add
};
int ProfileShowCommand(const ProfileArguments& arguments);
int ProfileMergeCommand(const ProfileArguments& arguments);
int ProfileAddCommand(const ProfileArguments& arguments);

struct DebugArguments {
  std::string target;  // report or directory of tests; empty: the newest report
  std::string program;
  std::vector<std::string> search_paths;
  uint32_t frame = 0;
  std::vector<std::string> debugger_arguments;
};
int DebugCommand(const DebugArguments& arguments);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_COMMANDS_H_
