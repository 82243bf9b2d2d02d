#include "testgen/suite/run.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "agent/base/printable_text.h"
#include "agent/base/readable_name.h"
#include "agent/base/signal_safe/profile_line.h"
#include "agent/elf/kept_programs.h"
#include "agent/process/subprocess.h"
#include "agent/report/profile.h"
#include "shadowstack/modes.h"
#include "testgen/emit/failure_text.h"
#include "testgen/suite/agent_environment.h"
#include "testgen/suite/load.h"
#include "testgen/suite/source_signature.h"
#include "testgen/symbols/profiled_functions.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

Result<fs::path> FindProgram(const std::string& name) {
  const bool is_word = name.find('/') == std::string::npos;
  const std::string path = is_word ? FindInPath(name) : name;
  std::error_code error;
  if (!path.empty() && fs::is_regular_file(path, error)) return fs::path(path);
  if (fs::is_directory(path, error)) return Error{Errc::kMissing, name + ": needed a program, found a folder"};
  return Error{Errc::kMissing,
               is_word ? fmt::format("{0}: no such program in PATH\ngive its path: recrash run -- ./{0}", name)
                       : name + ": no such program"};
}

std::set<fs::path> ReportsIn(const fs::path& folder) {
  std::set<fs::path> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (IsReport(entry.path()) && entry.is_regular_file(error)) paths.insert(entry.path());
  return paths;
}

// The user's options come last, since the last one of a name counts. So files are kept unless the user says otherwise.
std::string Options() {
  const char* given = std::getenv("RECRASH_OPTIONS");
  return given ? "files=embed," + std::string(given) : kInHouseOptions;
}

// Standard input as the first run found it. The second run must find the same.
class StandardInput {
 public:
  StandardInput() {
    struct stat status;
    if (fstat(STDIN_FILENO, &status) != 0) return;
    is_pipe_ = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
    if (S_ISREG(status.st_mode)) offset_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
  }
  // False for a pipe: what was read from it is gone.
  bool Rewind() const { return !is_pipe_ && (offset_ < 0 || lseek(STDIN_FILENO, offset_, SEEK_SET) == offset_); }

 private:
  bool is_pipe_ = false;
  int64_t offset_ = -1;  // of a regular file
};

// The functions on the crash's stack that can be watched; none when the program was not built for that.
Profile FunctionsToWatch(const Crash& crash) {
  const abi::ModeTraits* const mode = abi::ModeNamed(crash.report.process.mode);
  if (mode == nullptr || !mode->by_profile) return Profile();
  return FunctionsToWatch(crash.backtrace, *crash.opened);
}

// ---- How the second crash differs from the first -------------------------------------------------------------------

// "SIGSEGV in Drain".
std::string FailureAndPlace(const Crash& crash) {
  const std::string kind = FailureKindText(crash.report.failure);
  const std::string& function = crash.backtrace.place.function;
  return PrintableText(function.empty() ? kind : kind + " in " + PlainFunction(Demangle(function)));
}

std::vector<std::string> FunctionsOf(const Backtrace& backtrace) {
  std::vector<std::string> names;
  for (const Frame& frame : backtrace.frames)
    names.push_back(frame.linkage_name.empty() ? frame.function : frame.linkage_name);
  return names;
}

// Addresses and process numbers differ from run to run and are not compared.
bool SameKind(const Failure& a, const Failure& b) {
  return a.kind == b.kind && a.signal == b.signal && a.exception_type == b.exception_type;
}

// What the second run came to. `reports`: those that it left.
std::string Comparison(const Crash& first, const std::set<fs::path>& reports) {
  if (reports.size() != 1) return "the program did not crash the second time: make its tests from the first report";
  const Result<Crash> second = Load(*reports.begin(), first.symbols);
  if (!second) return "the program crashed again, but that report cannot be read: " + second.error().message;
  const Backtrace &before = first.backtrace, &after = second->backtrace;
  if (!SameKind(first.report.failure, second->report.failure) || before.place.function != after.place.function)
    return fmt::format("the program crashed in another way: {}, and then {}", FailureAndPlace(first),
                       FailureAndPlace(*second));
  if (FunctionsOf(before) != FunctionsOf(after) || before.skipped != after.skipped)
    return fmt::format("the program crashed in another way: {} both times, but with other functions on the stack",
                       FailureAndPlace(first));
  return "the program crashed the same way again: " + FailureAndPlace(*second);
}

// ---- The runs ------------------------------------------------------------------------------------------------------

struct Run {
  ProcessResult result;
  std::set<fs::path> reports;  // that it left
};

class Runner {
 public:
  Runner(const RunRequest& request, fs::path program, ProcessOptions options, Observer* observer)
      : request_(request), program_(std::move(program)), options_(std::move(options)), observer_(observer) {}

  Result<int> RunAll();

 private:
  Result<Run> RunOnce(const ProcessOptions& options) const;
  void TellReports(const Run& run) const;
  void RunAgain(const Run& run) const;
  void RunWatched(const Crash& first, const Profile& watched) const;

  const RunRequest& request_;
  fs::path program_;
  ProcessOptions options_;
  Observer* observer_;
  StandardInput input_;
};

Result<Run> Runner::RunOnce(const ProcessOptions& options) const {
  const std::set<fs::path> before = ReportsIn(request_.reports);
  std::vector<std::string> command = request_.command;
  command[0] = program_.string();
  Result<ProcessResult> result = RunProcess(command, options);
  if (!result) return result.error();
  Run run = {*std::move(result), ReportsIn(request_.reports)};
  std::erase_if(run.reports, [&](const fs::path& path) { return before.contains(path); });
  return run;
}

void Runner::TellReports(const Run& run) const {
  if (!run.reports.empty()) KeepProgram(program_.string());
  for (const fs::path& path : run.reports)
    observer_->Note(fmt::format("report: {}\nnext: recrash reproduce {} --program {}", path.string(),
                                request_.is_store ? ReportName(path) : path.string(), request_.command[0]));
}

// Only if the run ended in one crash, and that left one report.
void Runner::RunAgain(const Run& run) const {
  if (request_.once || !WIFSIGNALED(run.result.wait_status) || run.reports.size() != 1) return;
  const Result<Crash> first = Load(*run.reports.begin(), {program_.string(), {}, /*max_candidates=*/1});
  if (!first) return;
  KeepChain(*first);
  const Profile watched = FunctionsToWatch(*first);
  if (watched.functions.empty()) return;
  if (!input_.Rewind())
    return observer_->Note(
        "the program is not run again with its functions watched: what it read from the pipe is gone\n"
        "give it a file as standard input");
  RunWatched(*first, watched);
}

void Runner::RunWatched(const Crash& first, const Profile& watched) const {
  const std::string profile =
      fmt::format("{}/second-run-{}{}", request_.reports.string(), getpid(), signal_safe::kProfileSuffix);
  if (const Status status = WriteProfile(watched, profile); !status)
    return observer_->Note("the program is not run again with its functions watched: " + status.error().message);
  const size_t count = watched.functions.size();
  observer_->Note(
      fmt::format("running the program again, with {} function{} of its stack watched (--once prevents this)", count,
                  count == 1 ? "" : "s"));
  ProcessOptions options = options_;
  options.environment.emplace_back("RECRASH_PROFILE", profile);
  const Result<Run> again = RunOnce(options);
  unlink(profile.c_str());
  if (!again) return observer_->Note("the program was not run again: " + again.error().message);
  observer_->Note(Comparison(first, again->reports));
  TellReports(*again);
}

Result<int> Runner::RunAll() {
  const Result<Run> run = RunOnce(options_);
  if (!run) return run.error();
  TellReports(*run);
  if (WIFSIGNALED(run->result.wait_status) && run->reports.empty())
    observer_->Note(
        fmt::format("the program died of {}, and no report was written to {}\n"
                    "a program that handles this signal itself, or clears its environment, cannot be watched from "
                    "outside: build it with recrash-clang++",
                    SignalName(WTERMSIG(run->result.wait_status)), request_.reports.string()));
  RunAgain(*run);
  return run->result.exit_code();
}

}  // namespace

Result<int> RunProgram(const RunRequest& request, Observer* observer) {
  const Result<fs::path> program = FindProgram(request.command[0]);
  if (!program) return program.error();
  auto environment = AgentEnvironment(*program, Options());
  if (!environment) return environment.error();
  ProcessOptions options;
  options.environment = *std::move(environment);
  options.environment.emplace_back("RECRASH_DIR", request.reports.string());
  return Runner(request, *program, std::move(options), observer).RunAll();
}

}  // namespace recrash
