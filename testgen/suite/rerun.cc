// recrash reproduce --rerun
#include "testgen/rerun/rerun.h"

#include <fmt/format.h>

#include "integrations/cli/terminal.h"
#include "testgen/suite/agent_environment.h"
#include "testgen/suite/pipeline.h"

namespace recrash::cli {
namespace {

Result<RerunOptions> OptionsFor(const Suite& suite, double seconds) {
  RerunOptions options;
  options.program = suite.program;
  options.symbols = suite.symbols;
  options.seconds = seconds;
  auto environment = AgentEnvironment(suite.program, kInHouseOptions);
  if (!environment) return environment.error();
  options.environment = *std::move(environment);
  return options;
}

}  // namespace

void Rerun(double seconds, Suite* suite) {
  Result<RerunOptions> options = OptionsFor(*suite, seconds);
  if (!options) return Note("not run again: " + options.error().message);
  Result<recrash::Rerun> again = [&] {
    Progress progress("running the program again, round");
    options->progress = [&](int round) { progress.Show(static_cast<size_t>(round), 3); };
    return RunAgain(suite->report, suite->backtrace, *options);
  }();
  if (!again) return Note(again.error().message + "\nthe tests are made from the report alone");
  for (const std::string& note : again->notes) Note(note);
  uint64_t bytes = 0;
  for (const EntryState& state : again->report.replay->entry_states)
    for (const Region& region : state.memory) bytes += region.bytes.size();
  Note(fmt::format("run again, it failed in the same way: {} frame{} as they were entered, {} KiB",
                   again->report.replay->entry_states.size(), again->report.replay->entry_states.size() == 1 ? "" : "s",
                   bytes >> 10));
  suite->report = std::move(again->report);
  suite->backtrace = std::move(again->backtrace);
}

}  // namespace recrash::cli
