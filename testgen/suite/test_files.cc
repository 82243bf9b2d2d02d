#include "testgen/suite/test_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "testgen/discern/choose_enabled.h"
#include "testgen/emit/failure_text.h"
#include "testgen/replay/plan/translation.h"
#include "testgen/suite/build.h"
#include "testgen/suite/steps.h"
#include "testgen/verify/choose.h"

namespace recrash {
namespace {

bool IsCalledOddly(const TestReport& report, const ReplayFrame& frame) {
  const Module* module = report.FindModule(frame.entry);
  const ModuleImage* image = module && frame.changed_call ? report.replay.FindImage(*module) : nullptr;
  return image && IsLocalFunction(image->symbols, frame.entry - image->base);
}

FrameFacts FactsOf(const TestReport& report, const Frame& frame) {
  FrameFacts facts;
  facts.index = frame.index;
  const auto test = std::ranges::find(report.replay.frames, frame.index, &ReplayFrame::index);
  facts.has_test = test != report.replay.frames.end();
  facts.is_called_oddly = facts.has_test && IsCalledOddly(report, *test);
  facts.is_users = IsUsersCode(frame);
  facts.returns = frame.returns;
  facts.holds_bad_value = frame.holds_bad_value;
  facts.stack_left = StackLeft(report, frame.entry_sp);
  return facts;
}

constexpr char kTask[] = "building and running the tests";

}  // namespace

Status TestFiles::EmitCandidates() {
  options_.report_name = suite_->report_name;
  options_.literals = FindLiterals(&suite_->report);
  options_.tests.clear();
  for (const ReplayFrame& frame : ChooseTests(suite_->report.replay.frames))
    options_.tests.push_back({frame.index, frame.start});
  return WriteSuite(*suite_, options_, observer_);
}

Status TestFiles::Emit() {
  std::vector<FrameFacts> facts;
  for (const Frame& frame : suite_->backtrace.frames) facts.push_back(FactsOf(suite_->report, frame));
  options_.report_name = suite_->report_name;
  options_.literals = FindLiterals(&suite_->report);
  options_.tests.clear();
  for (ChosenTest& test : ChooseEnabled(facts, suite_->already_there)) {
    if (!suite_->report.failure.replaced_by.empty()) {
      test.enabled = false;
      test.doubt = "a handler caught the exception, and the fix may be there";
    }
    const Start& start = std::ranges::find(suite_->report.replay.frames, test.frame, &ReplayFrame::index)->start;
    options_.tests.push_back({test.frame, start, test.enabled, std::move(test.doubt)});
  }
  options_.verified = true;
  return WriteSuite(*suite_, options_, observer_);
}

Status TestFiles::Build() {
  observer_->Progress(kTask, 0, options_.tests.size());
  const Status named = BuildTests(suite_->directory);
  if (named || named.error().code != Errc::kRefused) return named;
  options_.opaque_types = true;
  if (const Status status = EmitAndBuild(); status || status.error().code != Errc::kRefused) return status;
  // The types' names were not the reason, and tests that have them are easier to read.
  options_.opaque_types = false;
  if (const Status status = Emit(); !status) return status;
  return named;
}

Status TestFiles::EmitAndBuild() {
  if (const Status status = Emit(); !status) return status;
  return BuildTests(suite_->directory);
}

Result<std::vector<uint32_t>> TestFiles::NotRed() const {
  Result<std::set<std::string>> red = RunBuiltTests(suite_->directory, suite_->program, suite_->sandbox);
  if (!red) return red.error();
  const auto& frames = suite_->report.replay.frames;
  if (!suite_->twin.empty() && std::ranges::any_of(frames, &ReplayFrame::needs_twin)) {
    Result<std::set<std::string>> in_twin = RunBuiltTests(suite_->directory, suite_->twin, suite_->sandbox);
    if (!in_twin) return in_twin.error();
    red->merge(*in_twin);
  }
  std::vector<uint32_t> wrong;
  for (const Frame& frame : suite_->backtrace.frames) {
    const bool has_test = std::ranges::find(options_.tests, frame.index, &EmittedTest::frame) != options_.tests.end();
    if (has_test && !red->contains(TestName(frame))) wrong.push_back(frame.index);
  }
  return wrong;
}

Result<std::vector<uint32_t>> TestFiles::Check() {
  Result<std::vector<uint32_t>> wrong = NotRed();
  if (!wrong || wrong->empty()) return wrong;
  // Text that a test gives itself lies elsewhere than the program's, and that may matter.
  options_.load_only = *wrong;
  if (const Status status = Emit(); !status) return status.error();
  if (const Status status = Build(); !status) return status.error();
  wrong = NotRed();
  if (!wrong || wrong->empty()) return wrong;
  ReplayData& replay = suite_->report.replay;
  std::vector<ReplayFrame> left = replay.frames;
  std::erase_if(left, [&](const ReplayFrame& frame) { return std::ranges::find(*wrong, frame.index) != wrong->end(); });
  Keep(std::move(left), &replay);
  if (replay.frames.empty()) return wrong;
  if (const Status status = Emit(); !status) return status.error();
  if (const Status status = Build(); !status) return status.error();
  return wrong;
}

}  // namespace recrash
