// recrash dump: a report of a process that goes on.
#include <errno.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "agent/process/proc_files.h"
#include "agent/process/subprocess.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/suite/agent_environment.h"

namespace recrash::cli {
namespace fs = std::filesystem;
namespace {

Status CheckProcess(const DumpArguments& arguments) {
  const std::string named = "process " + std::to_string(arguments.pid);
  if (kill(arguments.pid, 0) != 0 && errno == ESRCH) return Error{Errc::kMissing, named + ": there is none"};
  const std::vector<pid_t> threads = ThreadIds(arguments.pid);
  if (arguments.thread != 0 && std::ranges::find(threads, arguments.thread) == threads.end())
    return Error{Errc::kMissing, fmt::format("{} has no thread {}", named, arguments.thread)};
  return Ok{};
}

}  // namespace

int DumpCommand(const DumpArguments& arguments) {
  if (Status status = CheckProcess(arguments); !status) return Fail(status.error());
  const std::string collector = CollectorToRun();
  if (collector.empty())
    return Fail({Errc::kMissing, "recrash-collector was not found beside this recrash\nset RECRASH_COLLECTOR to it"});
  const fs::path folder =
      fs::absolute(arguments.directory.empty() ? StoreDirectory() : fs::path(arguments.directory)).lexically_normal();
  const int thread = arguments.thread != 0 ? arguments.thread : arguments.pid;
  ProcessOptions options;
  options.capture = true;
  const Result<ProcessResult> result =
      RunProcess({collector, std::to_string(arguments.pid), std::to_string(thread), "0", folder.string()}, options);
  if (!result) return Fail(result.error());
  std::string said = result->output;
  while (said.ends_with('\n')) said.pop_back();
  if (!result->ok())
    return Fail({Errc::kRefused, said.substr(said.find("error: ") == said.npos ? 0 : said.find("error: ") + 7)});
  fmt::print("recrash: {} (process {}): report in {}\n  look at it:  recrash show {}\n",
             PrintableText(BaseName(ReadProcLink(arguments.pid, "exe"))), arguments.pid, PrintableText(said),
             PrintableText(said));
  return kSuccess;
}

}  // namespace recrash::cli
