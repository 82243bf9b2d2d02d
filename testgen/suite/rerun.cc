#include "testgen/rerun/rerun.h"

#include <fmt/format.h>

#include "testgen/replay/host/code_files.h"
#include "testgen/suite/agent_environment.h"
#include "testgen/suite/steps.h"

namespace recrash {
namespace {

Result<RerunOptions> OptionsFor(const Suite& suite, const RerunRequest& request) {
  RerunOptions options;
  options.program = suite.program;
  options.symbols = suite.symbols;
  options.trust_report = suite.code().trust_report;
  options.seconds = request.seconds;
  if (!request.folder.empty()) options.folder = std::filesystem::absolute(request.folder).lexically_normal();
  auto environment = AgentEnvironment(suite.program, kInHouseOptions);
  if (!environment) return environment.error();
  options.environment = *std::move(environment);
  if (std::string path = LibraryPathFor(suite.report, suite.program, suite.code()); !path.empty())
    options.environment.emplace_back("LD_LIBRARY_PATH", std::move(path));
  return options;
}

void TakeSecondRun(RerunOptions options, Suite* suite, Observer* observer) {
  options.progress = [=](int round) {
    observer->Progress("running the program again, round", static_cast<size_t>(round), 3);
  };
  Result<Rerun> again = RunAgain(suite->report, suite->backtrace, options);
  if (!again) {
    // Files that no word of its command line names are not copied.
    const std::string hint =
        options.folder.empty() ? "; --rerun-in DIR runs the program in a folder that has its files" : "";
    return observer->Note(again.error().message + "\nthe tests are made from the report alone" + hint);
  }
  for (const std::string& note : again->notes) observer->Note(note);
  const std::vector<EntryState>& states = again->report.replay.entry_states;
  uint64_t bytes = 0;
  for (const EntryState& state : states) bytes += SizeOf(state.memory.own());
  observer->Note(fmt::format("run again, it failed in the same way: {} frame{} as they were entered, {} KiB",
                             states.size(), states.size() == 1 ? "" : "s", bytes >> 10));
  suite->report = std::move(again->report);
  suite->backtrace = std::move(again->backtrace);
  if (!suite->twin.empty()) AddFramesOfTwin(suite->backtrace, &suite->report.replay);
}

}  // namespace

Status RunProgramAgain(const RerunRequest& request, Suite* suite, Observer* observer) {
  Result<RerunOptions> options = OptionsFor(*suite, request);
  if (!options) {
    observer->Note("the program was not run again: " + options.error().message);
    return Ok{};
  }
  if (!request.without_asking && !options->trust_report && !observer->Ask(DescribeRun(suite->report, *options)))
    return Error{Errc::kRefused,
                 "--rerun needs your consent, since the report was not written on this machine by you\n"
                 "answer y at a terminal, give --yes, or leave out --rerun"};
  TakeSecondRun(*std::move(options), suite, observer);
  return Ok{};
}

}  // namespace recrash
