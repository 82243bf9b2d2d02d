#include "testgen/explain/explain.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "agent/elf/elf_notes.h"
#include "testgen/explain/calls.h"
#include "testgen/explain/condense.h"
#include "testgen/explain/past.h"
#include "testgen/explain/places.h"
#include "testgen/explain/trail.h"
#include "testgen/verify/replays.h"

namespace recrash::explain {
namespace {

constexpr int kMostExperiments = 12;

// Undoes what the link is about, in one more replay. Nothing: there is nothing else to put in its place.
std::optional<bool> IsUndone(const Trail::Experiment& experiment, Calls* calls, Past* past) {
  Moment moment = calls->MomentOf(experiment.call, experiment.step);
  Edit edit{.pc = experiment.to, .result = {}};
  if (experiment.to == 0) {
    const TraceStep& step = calls->TraceOf(experiment.call).steps[experiment.step];
    edit.result = calls->EarlierResult(step.code->next(), *experiment.result, moment);
    moment.push_back({step.code->next(), step.before.rsp, 1});
    if (!edit.result) return std::nullopt;
  }
  const Result<Verdict> verdict = past->Undo(moment, edit);
  return verdict ? std::optional(*verdict == Verdict::kReturned) : std::nullopt;
}

void UndoEach(const Trail& trail, std::vector<Link>* links, Calls* calls, Past* past,
              std::chrono::steady_clock::time_point deadline) {
  int tried = 0;
  for (Link& link : *links) {
    if (link.experiment < 0 || tried >= kMostExperiments || std::chrono::steady_clock::now() > deadline) continue;
    ++tried;
    link.undone = IsUndone(trail.experiments()[static_cast<size_t>(link.experiment)], calls, past);
  }
}

}  // namespace

Result<Explanation> Explain(const TestReport& report, const Symbols& symbols, const ExplainOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto deadline = begin + std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000));
  const std::vector<ReplayFrame>& frames = report.replay.frames;
  const auto frame = std::ranges::find(frames, options.frame, &ReplayFrame::index);
  if (frame == frames.end()) return Error{Errc::kRefused, "the frame has no replay"};
  const Module* program = report.program();
  const Result<std::string> build_id = ReadBuildId(options.replay.program);
  if (program && build_id && !build_id->empty() && !program->build_id.empty() && *build_id != program->build_id)
    return Error{Errc::kMissing, options.replay.program +
                                     " is not the build that crashed\n"
                                     "the cause can be looked for in that build alone"};
  Result<Replays> replays = Replays::Prepare(report, options.replay);
  if (!replays) return replays.error();
  const Thread* thread = report.failing_thread();
  // An inlined function's copy out of line fails elsewhere.
  const Fault fault{report.failure.signal, thread && frame->inlined_at.value == 0 ? thread->registers.pc() : 0};
  Past past(&*replays, static_cast<size_t>(frame - frames.begin()), options.start, fault, deadline);
  SourceOf source(symbols);
  Calls calls(report, symbols, &source, &past, frame->entry_sp.value);
  // What cannot be traced at all is told once, not as a trail without links.
  if (const Status traced = past.Visit([](PastRun&) {}); !traced) return traced.error();
  Report memory;
  const CallPtr failing = calls.Failing(options.replay.program, &memory);
  Trail trail(report.failure, memory, symbols, &source, &calls, options.most_links, deadline);
  if (failing) trail.Begin(failing);
  Explanation explanation;
  explanation.links = options.all ? std::move(trail.links()) : Condense(trail.links());
  UndoEach(trail, &explanation.links, &calls, &past, deadline);
  explanation.is_cut_short = past.is_over();
  explanation.began = frame->function;
  explanation.is_exact = options.start.from_entry;
  explanation.replays = past.visits();
  explanation.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (explanation.links.empty())
    return Error{Errc::kRefused, "a replay under control did not come to the failure again"};
  return explanation;
}

}  // namespace recrash::explain
