#include "testgen/suite/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/base/printable_text.h"
#include "agent/elf/elf_notes.h"
#include "testgen/flips/flipped_code.h"
#include "testgen/flips/flips.h"
#include "testgen/replay/host/sandbox_check.h"
#include "testgen/suite/build.h"
#include "testgen/suite/load.h"
#include "testgen/suite/minimal.h"
#include "testgen/suite/source_signature.h"
#include "testgen/suite/steps.h"
#include "testgen/suite/test_files.h"
#include "testgen/verify/choose.h"
#include "testgen/verify/unused.h"

namespace recrash {
namespace fs = std::filesystem;
namespace {

constexpr char kReplacedFolder[] = "replaced";

// Is `program` the very build that crashed? Without a build-id on either side it is taken for it.
bool IsBuildThatCrashed(const Report& report, const std::string& program) {
  const Module* recorded = report.program();
  const Result<std::string> build_id = ReadBuildId(program);
  return !recorded || !build_id || recorded->build_id.empty() || build_id->empty() || *build_id == recorded->build_id;
}

// What the tests themselves say of their frames: enough for a table, when the build that crashed is gone.
Backtrace FramesOfTests(const ReplayData& replay) {
  Backtrace backtrace;
  for (const ReplayFrame& test : replay.frames) {
    Frame& frame = backtrace.frames.emplace_back();
    frame.index = test.index;
    frame.function = test.function;
    frame.linkage_name = test.linkage_name;
    frame.file = test.file;
    frame.line = test.line;
    frame.own = true;
  }
  return backtrace;
}

// Each step finds what the ones before it left in outcome_.
class Pipeline {
 public:
  Pipeline(const Request& request, Observer* observer) : request_(request), observer_(observer) {}

  Status Load();
  Status Describe();
  Status Replay();
  Status Derive();
  Status KeepFrames();
  void FindFlips();
  Status Keep();
  Status Emit();
  Status Build();
  Status Check();
  Outcome outcome() && { return std::move(outcome_); }

 private:
  bool is_new() const { return !request_.report.empty(); }
  Status LoadTests();
  Status PrepareFolder();
  VerifyOptions Options() const;
  Status LeaveCandidates(const Error& error);
  void Drop(uint32_t frame);

  const Request& request_;
  Observer* observer_;
  Outcome outcome_;
  Suite& suite_ = outcome_.suite;
  std::optional<Crash> crash_;  // until it is described
  bool came_back_ = false;      // in another run
  bool same_build_ = true;      // suite_.program is the build that crashed
  bool is_reduced_ = false;     // the report holds too little for the tests to be written anew
  bool has_tests_ = false;      // the folder gets tests of the frames that reproduce
  TestFiles tests_{&suite_, observer_};
};

Status Pipeline::Load() {
  if (!is_new()) return LoadTests();
  SymbolOptions symbols;
  symbols.program = request_.program;
  symbols.search_paths = request_.search_paths;
  symbols.max_candidates = request_.max_frames;
  Result<Crash> crash = recrash::Load(request_.report, symbols);
  if (!crash) return crash.error();
  crash_ = *std::move(crash);
  KeepChain(*crash_);
  if (request_.replaced)
    if (const Status status = GoBackToReplaced(&*crash_); !status) return status;
  outcome_.replaced_exception = crash_->report.replaced.has_value();
  for (const std::string& flipped : crash_->backtrace.flipped) observer_->Note(flipped);
  if (!crash_->kept_program.empty())
    observer_->Note(fmt::format("the build that crashed is not there any more: using the one that was kept, {}",
                                crash_->kept_program));
  if (!crash_->is_own && request_.goal != Goal::kCandidates)
    observer_->Note(
        "the report was not written on this machine by you: replays run code of the program, in a sandbox, on "
        "data of the report");
  if (crash_->is_own && request_.inputs && request_.goal != Goal::kCandidates)
    for (const std::string& path : HoldInputs(&crash_->report))
      observer_->Note(PrintableText(path) + " is as at the crash and goes with the tests (--no-inputs leaves it out)");
  if (!request_.program.empty()) return Ok{};
  const CodeSources sources = {request_.search_paths, crash_->is_own || request_.trust_report};
  const Result<std::string> program = FindRecordedProgram(crash_->report, sources);
  return program ? Status(Ok{}) : program.error();
}

Status Pipeline::LoadTests() {
  Result<Suite> suite = ReadSuite(request_.folder, request_.program, request_.twin);
  if (!suite) return suite.error();
  suite_ = *std::move(suite);
  suite_.sandbox = request_.sandbox;
  suite_.format = request_.format;
  suite_.trust_report = suite_.trust_report || request_.trust_report;
  same_build_ = IsBuildThatCrashed(suite_.report, suite_.program);
  const Result<Symbols> symbols = Symbols::Open(suite_.report, suite_.symbols);
  Result<Backtrace> backtrace = symbols ? ReadBacktrace(suite_.report, *symbols) : symbols.error();
  is_reduced_ = IsReduced(suite_.report);
  if (!backtrace && same_build_ && !is_reduced_) return backtrace.error();
  outcome_.whole_stack = backtrace && !is_reduced_;
  suite_.backtrace = outcome_.whole_stack ? *std::move(backtrace) : FramesOfTests(suite_.report.replay);
  if (symbols) suite_.backtrace.flipped = FlippedCode(suite_.report, *symbols);
  return Ok{};
}

Status Pipeline::Describe() {
  if (!crash_) return Ok{};
  Result<Suite> suite = recrash::Describe(*std::move(crash_), request_.twin);
  if (!suite) return suite.error();
  suite_ = *std::move(suite);
  suite_.sandbox = request_.sandbox;
  suite_.format = request_.format;
  suite_.trust_report = request_.trust_report;
  for (const std::string& note : suite_.backtrace.notes) observer_->Note(note);
  if (request_.goal != Goal::kFrames)
    if (const Status status = PrepareFolder(); !status) return status;
  if (request_.rerun) {
    const int32_t first = suite_.report.process.pid;
    const Status status = RunProgramAgain(*request_.rerun, &suite_, observer_);
    if (!status) return status;
    came_back_ = suite_.report.process.pid != first;
  }
  same_build_ = IsBuildThatCrashed(suite_.report, suite_.program);
  return Ok{};
}

Status Pipeline::PrepareFolder() {
  suite_.directory = request_.folder.empty() ? fs::path(suite_.report_name + "-tests") : request_.folder;
  if (request_.goal == Goal::kTests)
    if (const Status status = CheckBuildFolder(suite_.directory); !status) return status;
  return PrepareDirectory(suite_.directory, request_.force);
}

VerifyOptions Pipeline::Options() const {
  VerifyOptions options;
  options.program = suite_.program;
  options.twin = suite_.twin;
  options.code = suite_.code();
  options.sandbox = suite_.sandbox;
  options.seconds_per_frame = request_.seconds_per_frame;
  options.max_frames = request_.max_frames;
  options.runs = request_.runs;
  options.jobs = request_.jobs;
  options.allow_same_bases = request_.same_bases;
  return options;
}

Status Pipeline::Replay() {
  if (request_.goal == Goal::kCandidates) return Ok{};
  if (const std::string lacks = suite_.sandbox ? WhatTheSandboxLacks() : ""; !lacks.empty()) observer_->Note(lacks);
  for (const std::string& refused : RefusedCode(suite_.report, suite_.program, suite_.code())) observer_->Note(refused);
  Result<std::vector<FrameVerdict>> verdicts = ReplayFrames(suite_.report, Options(), observer_);
  if (!verdicts) return LeaveCandidates(verdicts.error());
  outcome_.verdicts = *std::move(verdicts);
  return Ok{};
}

Status Pipeline::Derive() {
  if (!same_build_ || request_.goal == Goal::kCandidates || request_.derive == recrash::Derive::kNone) return Ok{};
  const Status status =
      ReplayDerived(request_.derive == recrash::Derive::kAll, Options(), &suite_, &outcome_.verdicts, observer_);
  return status ? status : LeaveCandidates(status.error());
}

// What cannot be replayed can still be read.
Status Pipeline::LeaveCandidates(const Error& error) {
  if (request_.goal == Goal::kFrames) return error;
  if (const Status emitted = Emit(); !emitted) return emitted;
  return error;
}

// The tests of a folder have theirs.
Status Pipeline::KeepFrames() {
  if (is_new()) {
    ReplayData& replay = suite_.report.replay;
    recrash::Keep(FramesToKeep(replay.frames, outcome_.verdicts, request_.runs), &replay);
  }
  if (!suite_.report.replay.frames.empty()) return Ok{};
  return Error{Errc::kMissing, "no frame reproduces the crash\nrecrash reproduce says what became of each"};
}

// A crash that comes back when the program runs again is none of the machine's.
void Pipeline::FindFlips() {
  if (!same_build_ || is_reduced_ || request_.goal == Goal::kCandidates || came_back_) return;
  std::vector<ReplayToFailure> replays;
  for (const FrameVerdict& verdict : outcome_.verdicts)
    if (verdict.verdict == Verdict::kReproduced) replays.push_back({verdict.index, verdict.start});
  const auto flip = ProvedFlip(suite_.report, suite_.backtrace, suite_.symbols, replays, Options());
  if (!flip) return;
  suite_.backtrace.flipped.push_back(*flip);
  outcome_.notes.push_back(*flip);
}

Status Pipeline::Keep() {
  ReplayData& replay = suite_.report.replay;
  if (request_.goal == Goal::kCandidates) {
    for (const ReplayFrame& frame : ChooseTests(replay.frames)) outcome_.kept.push_back(frame.index);
    return Ok{};
  }
  std::vector<ReplayFrame> frames = FramesToKeep(replay.frames, outcome_.verdicts, request_.runs);
  for (const ReplayFrame& frame : frames) outcome_.kept.push_back(frame.index);
  if (std::string unstable = UnstableText(outcome_.verdicts); !unstable.empty())
    outcome_.notes.push_back(std::move(unstable));
  if (!same_build_)
    outcome_.notes.push_back(
        fmt::format("{} is not the build that crashed: the tests are left as they are", suite_.program));
  else if (is_reduced_)
    outcome_.notes.push_back("the report holds only what its tests need: the tests are left as they are");
  has_tests_ = same_build_ && !is_reduced_ && !frames.empty();
  if (!has_tests_) return Ok{};
  recrash::Keep(std::move(frames), &replay);
  if (const Status looked = LookAtEntries(&suite_); !looked) return looked;
  Discern(Options(), &suite_, observer_);
  LeaveOutUnused(&suite_.report);
  for (std::string& note : NotesOnKept(suite_.report, outcome_.verdicts)) outcome_.notes.push_back(std::move(note));
  return Ok{};
}

Status Pipeline::Emit() {
  if (has_tests_) return tests_.Emit();
  return is_new() ? tests_.EmitCandidates() : Status(Ok{});
}

Status Pipeline::Build() { return has_tests_ && request_.goal == Goal::kTests ? tests_.Build() : Status(Ok{}); }

Status Pipeline::Check() {
  if (!has_tests_ || request_.goal != Goal::kTests) return Ok{};
  const Result<std::vector<uint32_t>> dropped = tests_.Check();
  if (!dropped) return dropped.error();
  for (const uint32_t frame : *dropped) Drop(frame);
  return Ok{};
}

void Pipeline::Drop(uint32_t frame) {
  std::erase(outcome_.kept, frame);
  FrameVerdict& verdict = *std::ranges::find(outcome_.verdicts, frame, &FrameVerdict::index);
  verdict.verdict = Verdict::kCannotReplay;
  verdict.note = "reproduced when verified, but its built test did not fail as recorded";
  outcome_.notes.push_back(
      fmt::format("frame {}: its built test did not fail as recorded, so the test was dropped", frame));
}

Result<Outcome> Run(const Request& request, Observer* observer) {
  Pipeline pipeline(request, observer);
  Status status = pipeline.Load();
  if (status) status = pipeline.Describe();
  if (status) status = pipeline.Replay();
  if (status) status = pipeline.Derive();
  if (status) pipeline.FindFlips();
  if (status) status = pipeline.Keep();
  if (status) status = pipeline.Emit();
  if (status) status = pipeline.Build();
  if (status) status = pipeline.Check();
  if (!status) return status.error();
  return std::move(pipeline).outcome();
}

// The notes of a second suite of the same report are those of the first.
class WithoutNotes : public Observer {
 public:
  explicit WithoutNotes(Observer* observer) : observer_(observer) {}
  void Note(const std::string&) override {}
  bool Ask(const std::string& text) override { return observer_->Ask(text); }
  void Progress(const std::string& what, size_t done, size_t all) override { observer_->Progress(what, done, all); }

 private:
  Observer* observer_;
};

// What to say of the tests of the exception that a handler replaced.
std::string MakeTestsOfReplaced(Request request, const Suite& last, Observer* observer) {
  request.replaced = true;
  request.folder = last.directory / kReplacedFolder;
  request.rerun.reset();  // the run that was recorded
  WithoutNotes quiet(observer);
  const Result<Outcome> outcome = Run(request, &quiet);
  if (!outcome)
    return fmt::format("before that a handler replaced another exception; no tests of its throw: {}",
                       outcome.error().message);
  const std::string what = "before that a handler " + outcome->suite.failure;  // "replaced Problem in Read at a.cc:3"
  if (request.goal != Goal::kCandidates && outcome->kept.empty()) return what + "; none of its frames reproduces it";
  return fmt::format("{}; {} test{} of what was called then: {}", what, outcome->kept.size(),
                     outcome->kept.size() == 1 ? "" : "s", (outcome->suite.directory / "crash_test.cc").string());
}

}  // namespace

Result<Suite> FindReproduced(Request request, Observer* observer) {
  request.goal = Goal::kFrames;
  const bool is_new = !request.report.empty();
  Pipeline pipeline(request, observer);
  Status status = pipeline.Load();
  if (status && is_new) status = pipeline.Describe();
  if (status && is_new) status = pipeline.Replay();
  if (status && is_new) status = pipeline.Derive();
  if (status) status = pipeline.KeepFrames();
  if (!status) return status.error();
  return std::move(pipeline).outcome().suite;
}

Result<Outcome> MakeTests(const Request& request, Observer* observer) {
  Result<Outcome> outcome = Run(request, observer);
  if (outcome && outcome->replaced_exception)
    outcome->notes.push_back(MakeTestsOfReplaced(request, outcome->suite, observer));
  return outcome;
}

}  // namespace recrash
