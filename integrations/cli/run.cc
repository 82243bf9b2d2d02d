// recrash run: runs a program with the agent in it.
#include "testgen/suite/run.h"

#include "integrations/cli/commands.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"

namespace recrash::cli {
namespace fs = std::filesystem;

int RunCommand(const RunArguments& arguments) {
  if (arguments.command.empty())
    return Fail({Errc::kUsage, "needed a program to run, found none\nrecrash run -- PROGRAM [ARGUMENTS...]"});
  RunRequest request;
  request.command = arguments.command;
  request.is_store = arguments.directory.empty();
  request.reports =
      fs::absolute(request.is_store ? StoreDirectory() : fs::path(arguments.directory)).lexically_normal();
  request.once = arguments.once;
  TerminalObserver observer;
  const Result<int> exit_code = RunProgram(request, &observer);
  return exit_code ? *exit_code : Fail(exit_code.error());
}

}  // namespace recrash::cli
