#include "testgen/rerun/rerun.h"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "agent/base/text.h"
#include "agent/process/proc_files.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"
#include "agent/report/reader.h"
#include "testgen/rerun/conditions.h"
#include "testgen/rerun/hit_counts.h"
#include "testgen/rerun/output_tail.h"
#include "testgen/rerun/rounds.h"
#include "testgen/rerun/stopped_state.h"
#include "testgen/rerun/symbols_of_rounds.h"
#include "testgen/rerun/workspace.h"
#include "testgen/symbols/first_failure.h"

namespace recrash {
namespace {

// A stack overflow has too many frames, and most of them reproduce without an entry state.
constexpr size_t kDeep = 1000;
// A program whose threads race, or that reads memory which was never written, may take another way in one run and the
// same way in the next.
constexpr int kAttempts = 4;
constexpr std::chrono::seconds kShort{20};
// States are compared with the last report, so all of their memory has to be kept until then.
constexpr uint64_t kMostBytes = 2ull << 30;

Error Different(const std::string& how) {
  return {Errc::kRefused, "the program was run again and did not fail in the same way: " + how};
}

// "exit status 3" or "signal 6".
std::string HowItEnded(int status) {
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "exit status " + std::to_string(WEXITSTATUS(status));
}

struct LoadedReport {
  TestReport report;
  Backtrace backtrace;
};

// Functions of the program's own that can be called, innermost first. An inlined one may be callable in a twin alone.
std::vector<std::string> Functions(const TestReport& report) {
  std::vector<std::string> names;
  for (const ReplayFrame& frame : report.replay.frames)
    if (frame.inlined_at.value == 0) names.push_back(frame.linkage_name);
  return names;
}

std::optional<Error> Compare(const TestReport& first, const TestReport& again) {
  if (first.failure.kind != again.failure.kind || first.failure.signal != again.failure.signal)
    return Different("signal " + std::to_string(again.failure.signal) + " instead of " +
                     std::to_string(first.failure.signal));
  if (first.failure.exception_type != again.failure.exception_type)
    return Different("it threw " + again.failure.exception_type);
  if (Functions(first) != Functions(again)) return Different("other functions were on its stack");
  return std::nullopt;
}

std::vector<FrameEntry> EntriesOf(const TestReport& report) {
  std::vector<FrameEntry> entries;
  for (const ReplayFrame& frame : report.replay.frames)
    // An inlined call is met in a replay of the function around it.
    if (frame.inlined_at.value == 0)
      entries.push_back({frame.index, frame.entry.value, frame.entry_sp.value, 0, std::nullopt});
  std::ranges::sort(entries, {}, &FrameEntry::frame);
  return entries;
}

class Runner {
 public:
  Runner(const TestReport& first, const RerunOptions& options, Workspace workspace, SymbolsOfRounds* symbols)
      : first_(first),
        options_(options),
        workspace_(std::move(workspace)),
        environment_(EnvironmentHere()),
        symbols_(symbols) {}

  Result<Rerun> Run();
  // What the last run printed at its end.
  const std::string& output() const { return output_; }

 private:
  Result<LoadedReport> RunOnce(const Round& round);
  Status ReadFrames(LoadedReport* loaded) const;
  Result<LoadedReport> TakeStates(const std::vector<FrameEntry>& frames);
  std::vector<uint64_t> EntriesIn(pid_t pid) const;
  RerunEnvironment EnvironmentHere() const;

  const TestReport& first_;
  const RerunOptions& options_;
  Workspace workspace_;
  RerunEnvironment environment_;
  SymbolsOfRounds* symbols_;
  std::vector<EntryState> states_;  // of the last round
  size_t with_memory_ = 0;          // how many of them, from the first on
  int round_ = 0;
  std::string output_;
};

// What was left out, for the user; empty: nothing.
std::string DroppedText(const std::vector<std::string>& dropped) {
  std::string names;
  for (const std::string& name : dropped) names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) return names;
  return "run again without what can make a program run other code: " + names + "\n  --trust-report keeps it";
}

RerunEnvironment Runner::EnvironmentHere() const {
  RerunOptions options = options_;
  options.environment.emplace_back("RECRASH_DIR", workspace_.reports().string());
  // Entries as they were compiled, where this run stops the program; and a profile is not to learn from it.
  options.environment.emplace_back("RECRASH_PROFILE", "");
  return EnvironmentOf(first_, options);
}

// The functions of the first report's frames, at their addresses in this run.
std::vector<uint64_t> Runner::EntriesIn(pid_t pid) const {
  const std::vector<Module> modules =
      ModulesFromMappings(ParseMaps(ReadProcFile(pid, "maps")), ReadProcLink(pid, "exe"));
  std::set<uint64_t> entries;
  for (const ReplayFrame& frame : first_.replay.frames) {
    const Module* recorded = first_.FindModule(frame.entry);
    if (!recorded || frame.inlined_at.value != 0) continue;
    for (const Module& module : modules) {
      // A library may lie in another folder now.
      const bool same = recorded->is_program ? module.is_program : BaseName(module.path) == BaseName(recorded->path);
      if (same) entries.insert(frame.entry.value - recorded->base.value + module.base.value);
    }
  }
  return {entries.begin(), entries.end()};
}

Result<LoadedReport> Runner::RunOnce(const Round& round) {
  options_.progress(++round_);
  if (const Status status = workspace_.Refresh(first_); !status) return status.error();
  TracedStart start;
  start.program = options_.program;
  start.arguments = first_.process.arguments;
  start.environment = environment_.kept;
  start.directory = workspace_.current();
  start.seconds = options_.seconds;
  OutputTail output;
  start.output = output.descriptor();
  TracedProgram program(round.on_loaded, round.on_entry);
  const Result<int> status = program.Run(start);
  output_ = output.Take();
  if (!status) return Different(status.error().message);
  const Result<std::filesystem::path> path = workspace_.OnlyReport();
  if (!path) return Different("it ended with " + HowItEnded(*status) + " and " + path.error().message);
  Result<Report> report = ReadReport(path->string());
  if (!report) return report.error();
  LoadedReport loaded{{*std::move(report), {}}, {}};
  if (const Status status = ReadFrames(&loaded); !status) return status.error();
  return loaded;
}

// The arguments of a frame come from the registers at its entry, once its state is taken.
Status Runner::ReadFrames(LoadedReport* loaded) const {
  const Result<const Symbols*> opened = symbols_->For(loaded->report);
  if (!opened) return opened.error();
  const Symbols& symbols = **opened;
  GoBackToFault(symbols, &loaded->report);
  Result<Backtrace> backtrace = ReadBacktrace(loaded->report, symbols, states_);
  if (!backtrace) return backtrace.error();
  loaded->backtrace = *std::move(backtrace);
  loaded->report.replay = MakeReplayData(loaded->backtrace, symbols);
  std::ranges::sort(loaded->report.replay.frames, {}, &ReplayFrame::index);
  return Ok{};
}

Result<LoadedReport> Runner::TakeStates(const std::vector<FrameEntry>& frames) {
  uint64_t size = 0;
  std::optional<Error> problem;
  VisitRound visits(frames, [&](TracedProgram& program, size_t i, uint64_t sp) {
    if (frames[i].sp != sp) problem = Different("it took another way there");
    Result<EntryState> state = TakeState(program, frames[i]);
    if (!state) problem = state.error();
    if (problem) return false;
    size += SizeOf(state->memory.own());
    if (size > kMostBytes) state->memory = {};
    states_.push_back(*std::move(state));
    if (size <= kMostBytes) with_memory_ = states_.size();
    return true;
  });
  Result<LoadedReport> loaded = RunOnce(visits.round());
  if (problem) return *problem;
  if (loaded && visits.left() > 0) return Different("it did not come to all of the functions again");
  return loaded;
}

std::string WhyNot(const HitCounts& counts, const FrameEntry& frame) {
  const std::string start = "frame " + std::to_string(frame.frame) + ": no entry state, ";
  if (counts.IsHot(frame.entry)) return start + "its function is entered too often";
  return start + "its entry was not seen";
}

Result<Rerun> Runner::Run() {
  HitCounts counts(kOften);
  Result<LoadedReport> again = RunOnce(CountEntries([this](pid_t pid) { return EntriesIn(pid); }, &counts));
  if (!again) return again.error();
  if (const std::optional<Error> different = Compare(first_, again->report)) return *different;
  std::vector<FrameEntry> frames = EntriesOf(again->report);
  const auto run = [this](const Round& round) -> Status {
    const Result<LoadedReport> loaded = RunOnce(round);
    return loaded ? Status(Ok{}) : loaded.error();
  };
  if (const Status numbered = NumberEntries(counts, run, &frames); !numbered) return numbered.error();
  Result<LoadedReport> last = TakeStates(frames);
  if (!last) return last.error();
  const std::vector<FrameEntry> now = EntriesOf(last->report);
  const auto place = [](const FrameEntry& frame) { return std::tuple(frame.frame, frame.entry, frame.sp); };
  if (!std::ranges::equal(frames, now, {}, place, place)) return Different("each run has another stack");

  Rerun rerun{std::move(last->report), std::move(last->backtrace), {}};
  if (const std::string dropped = DroppedText(environment_.dropped); !dropped.empty()) rerun.notes.push_back(dropped);
  for (const FrameEntry& frame : frames)
    if (frame.number == 0) rerun.notes.push_back(WhyNot(counts, frame));
  states_.resize(with_memory_);
  for (EntryState& state : states_)
    rerun.report.replay.entry_states.push_back(DifferenceTo(rerun.report, std::move(state)));
  std::ranges::sort(rerun.report.replay.entry_states, {}, &EntryState::frame);
  return rerun;
}

// Lines for a message that says why the program did not fail as before.
std::string Printed(const std::string& output) {
  if (output.find_first_not_of(" \n\t\r") == std::string::npos) return "\nit printed nothing";
  std::string text = "\nit printed at its end:";
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) text += "\n| " + line;
  return text;
}

}  // namespace

Result<Rerun> RunAgain(const TestReport& first, const Backtrace& backtrace, const RerunOptions& options) {
  const size_t frames = backtrace.frames.size() + backtrace.skipped;
  if (frames > kDeep)
    return Error{Errc::kRefused,
                 "a stack of " + std::to_string(frames) + " frames: the program is not run again for that"};
  const auto start = std::chrono::steady_clock::now();
  SymbolsOfRounds symbols(options.symbols);
  for (int attempt = 1;; ++attempt) {
    Result<Workspace> workspace = Workspace::Make(options.folder);
    if (!workspace) return workspace.error();
    Runner runner(first, options, *std::move(workspace), &symbols);
    Result<Rerun> rerun = runner.Run();
    if (rerun) return rerun;
    const bool is_short = std::chrono::steady_clock::now() - start < kShort;
    if (attempt == kAttempts || !is_short)
      return Error{rerun.error().code, rerun.error().message + Printed(runner.output())};
  }
}

}  // namespace recrash
