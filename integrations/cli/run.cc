// recrash run: runs a program with the agent in it, so that its crash is kept. A program that was built for second
// chance and crashes is run again, with the functions of its stack watched.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "integrations/cli/commands.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/emit/failure_text.h"
#include "testgen/suite/agent_environment.h"
#include "testgen/suite/second_run.h"
#include "testgen/suite/subprocess.h"

namespace recrash::cli {
namespace fs = std::filesystem;
namespace {

Result<fs::path> FindProgram(const std::string& name) {
  const bool is_word = name.find('/') == std::string::npos;
  const std::string path = is_word ? FindInPath(name) : name;
  std::error_code error;
  if (!path.empty() && fs::is_regular_file(path, error)) return fs::path(path);
  return Error{Errc::kMissing,
               is_word ? fmt::format("{0}: no such program in PATH\ngive its path: recrash run -- ./{0}", name)
                       : name + ": no such program"};
}

std::set<fs::path> ReportsIn(const fs::path& directory) {
  std::set<fs::path> paths;
  for (const StoredReport& stored : ListStore(directory)) paths.insert(stored.path);
  return paths;
}

// As the user says; files are kept unless they say otherwise: the last of a name counts.
std::string Options() {
  const char* given = std::getenv("RECRASH_OPTIONS");
  return given ? "files=embed," + std::string(given) : kInHouseOptions;
}

// What a run adds to our environment, and where its reports go.
struct Setting {
  fs::path program;
  fs::path store;
  ProcessOptions options;
};

Result<Setting> Prepare(const RunArguments& arguments) {
  Setting setting;
  const Result<fs::path> program = FindProgram(arguments.command[0]);
  if (!program) return program.error();
  setting.program = *program;
  auto environment = AgentEnvironment(*program, Options());
  if (!environment) return environment.error();
  setting.options.environment = *std::move(environment);
  setting.store =
      fs::absolute(arguments.directory.empty() ? StoreDirectory() : fs::path(arguments.directory)).lexically_normal();
  setting.options.environment.emplace_back("RECRASH_DIR", setting.store.string());
  return setting;
}

struct Run {
  ProcessResult result;
  std::set<fs::path> reports;  // that it left
};

Result<Run> RunOnce(const Setting& setting, const RunArguments& arguments, const ProcessOptions& options) {
  const std::set<fs::path> before = ReportsIn(setting.store);
  std::vector<std::string> command = arguments.command;
  command[0] = setting.program.string();
  Result<ProcessResult> result = RunProcess(command, options);
  if (!result) return result.error();
  Run run = {*std::move(result), ReportsIn(setting.store)};
  std::erase_if(run.reports, [&](const fs::path& path) { return before.contains(path); });
  return run;
}

void TellReports(const Run& run, const RunArguments& arguments) {
  for (const fs::path& path : run.reports)
    Note(fmt::format("report: {}\nnext: recrash reproduce {} --program {}", path.string(),
                     arguments.directory.empty() ? ReportName(path) : path.string(), arguments.command[0]));
}

// What the second run came to, in words.
std::string Compare(const Crash& first, const Run& run) {
  if (run.reports.size() != 1) return "the program did not crash the second time: make its tests from the first report";
  const Result<Crash> second = Load(*run.reports.begin(), first.symbols);
  if (!second) return "the program crashed again, but that report cannot be read: " + second.error().message;
  const std::string difference = Difference(first, *second);
  if (difference.empty()) return "the program crashed the same way again: " + FailureAndPlace(*second);
  return "the program crashed in another way: " + difference;
}

// Only after one crash that left its own report.
void RunAgain(const Setting& setting, const RunArguments& arguments, const StandardInput& input, const Run& run) {
  if (arguments.once || !WIFSIGNALED(run.result.wait_status) || run.reports.size() != 1) return;
  const Result<Crash> first = Load(*run.reports.begin(), {setting.program.string(), {}, /*max_candidates=*/1});
  if (!first) return;
  const Result<Profile> watched = FunctionsToWatch(*first);
  if (!watched || watched->functions.empty()) return;
  if (!input.Rewind())
    return Note(
        "the program is not run again with its functions watched: what it read from the pipe is gone\n"
        "give it a file as standard input");
  const Result<TemporaryProfile> profile = TemporaryProfile::Write(*watched, setting.store.string());
  if (!profile) return Note("the program is not run again with its functions watched: " + profile.error().message);
  const size_t count = watched->functions.size();
  Note(fmt::format("running the program again, with {} function{} of its stack watched (--once prevents this)", count,
                   count == 1 ? "" : "s"));
  ProcessOptions options = setting.options;
  options.environment.emplace_back("RECRASH_PROFILE", profile->path());
  const Result<Run> again = RunOnce(setting, arguments, options);
  if (!again) return Note("the program was not run again: " + again.error().message);
  Note(Compare(*first, *again));
  TellReports(*again, arguments);
}

}  // namespace

int RunCommand(const RunArguments& arguments) {
  if (arguments.command.empty())
    return Fail({Errc::kUsage, "needed a program to run, found none\nrecrash run -- PROGRAM [ARGUMENTS...]"});
  const Result<Setting> setting = Prepare(arguments);
  if (!setting) return Fail(setting.error());
  const StandardInput input;
  const Result<Run> run = RunOnce(*setting, arguments, setting->options);
  if (!run) return Fail(run.error());
  TellReports(*run, arguments);
  if (WIFSIGNALED(run->result.wait_status) && run->reports.empty())
    Note(
        fmt::format("the program died of {}, and no report was written to {}\n"
                    "a program that handles this signal itself, or clears its environment, cannot be watched from "
                    "outside: build it with recrash-clang++",
                    SignalName(WTERMSIG(run->result.wait_status)), setting->store.string()));
  RunAgain(*setting, arguments, input, *run);
  return run->result.exit_code();
}

}  // namespace recrash::cli
