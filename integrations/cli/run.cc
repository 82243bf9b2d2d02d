// recrash run: a program as it is, with the agent in it, so that its crash is kept.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "integrations/cli/agent_environment.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/store.h"
#include "integrations/cli/subprocess.h"
#include "integrations/cli/terminal.h"
#include "testgen/emit/failure_text.h"

namespace recrash::cli {
namespace fs = std::filesystem;
namespace {

Result<fs::path> FindProgram(const std::string& name) {
  const std::string path = name.find('/') == std::string::npos ? FindInPath(name) : name;
  std::error_code error;
  if (!path.empty() && fs::is_regular_file(path, error)) return fs::path(path);
  return Error{Errc::kMissing,
               fmt::format("{}: no such program\ngive its path, as in recrash run -- ./{}", name, name)};
}

std::set<fs::path> ReportsIn(const fs::path& directory) {
  std::set<fs::path> paths;
  for (const StoredReport& stored : ListStore(directory)) paths.insert(stored.path);
  return paths;
}

// As the user says; files are kept unless they say otherwise.
std::string Options() {
  const char* given = std::getenv("RECRASH_OPTIONS");
  if (!given) return kInHouseOptions;
  const std::string options = given;
  for (size_t at = 0; (at = options.find("files=", at)) != std::string::npos; ++at)
    if (at == 0 || options[at - 1] == ',' || options[at - 1] == ':') return options;
  return options + (options.empty() ? "" : ",") + "files=embed";
}

}  // namespace

int RunCommand(const RunArguments& arguments) {
  if (arguments.command.empty())
    return Fail({Errc::kUsage, "needed a program to run, found none\nrecrash run -- PROGRAM [ARGUMENTS...]"});
  const Result<fs::path> program = FindProgram(arguments.command[0]);
  if (!program) return Fail(program.error());
  auto environment = AgentEnvironment(*program, Options());
  if (!environment) return Fail(environment.error());

  const fs::path store =
      fs::absolute(arguments.directory.empty() ? StoreDirectory() : fs::path(arguments.directory)).lexically_normal();
  ProcessOptions options;
  options.environment = *std::move(environment);
  options.environment.emplace_back("RECRASH_DIR", store.string());

  const std::set<fs::path> before = ReportsIn(store);
  std::vector<std::string> command = arguments.command;
  command[0] = program->string();
  const Result<ProcessResult> result = RunProcess(command, options);
  if (!result) return Fail(result.error());

  std::set<fs::path> reports = ReportsIn(store);
  std::erase_if(reports, [&](const fs::path& path) { return before.contains(path); });
  for (const fs::path& path : reports)
    Note(fmt::format("report: {}\nnext: recrash reproduce {} --program {}", path.string(),
                     arguments.directory.empty() ? ReportName(path) : path.string(), arguments.command[0]));
  if (WIFSIGNALED(result->wait_status) && reports.empty())
    Note(
        fmt::format("the program died of {}, and no report was written to {}\n"
                    "a program that handles this signal itself, or clears its environment, cannot be watched from "
                    "outside: build it with recrash-clang++",
                    SignalName(WTERMSIG(result->wait_status)), store.string()));
  return result->exit_code();
}

}  // namespace recrash::cli
