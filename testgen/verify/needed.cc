#include "testgen/verify/needed.h"

#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "testgen/verify/replays.h"

namespace recrash {
namespace {

// All frames of the report, each once in each of options.runs starts of the subject.
Status RunAll(const TestReport& report, const VerifyOptions& options, Replays* replays,
              const std::function<void(const ReplayFrame&, const Try&)>& visit) {
  const std::vector<ReplayFrame>& all = report.replay.frames;
  std::vector<uint32_t> frames(all.size());
  std::iota(frames.begin(), frames.end(), 0);
  const auto once = [&](size_t i, const Try* outcome) -> std::optional<Start> {
    if (!outcome) return all[i].start;
    visit(all[i], *outcome);
    return std::nullopt;
  };
  for (uint32_t run = 0; run < options.runs; ++run)
    if (const Status status = replays->Run(frames, once); !status) return status;
  return Ok{};
}

}  // namespace

std::vector<plan::Range> JoinToRanges(const std::vector<TargetAddress>& pages) {
  std::vector<plan::Range> ranges;
  for (const TargetAddress page : pages) {
    if (ranges.empty() || ranges.back().end != page.value) ranges.push_back({page.value, page.value});
    ranges.back().end += plan::kPageSize;
  }
  return ranges;
}

Result<std::vector<TargetAddress>> TouchedPages(const TestReport& report, const VerifyOptions& options,
                                                const std::vector<TargetAddress>& pages) {
  Result<Replays> replays = Replays::Prepare(report, options, JoinToRanges(pages));
  if (!replays) return replays.error();
  const Status status = RunAll(report, options, &*replays, [](const ReplayFrame&, const Try&) {});
  if (!status) return status.error();
  std::vector<TargetAddress> touched;
  for (size_t i = 0; i < pages.size(); ++i)
    if (replays->touched()[i]) touched.push_back(pages[i]);
  return touched;
}

Result<std::vector<uint32_t>> ChangedTests(const TestReport& report, const VerifyOptions& options) {
  Result<Replays> replays = Replays::Prepare(report, options);
  if (!replays) return replays.error();
  std::set<uint32_t> changed;
  const Status status = RunAll(report, options, &*replays, [&](const ReplayFrame& frame, const Try& outcome) {
    if (outcome.verdict != Verdict::kReproduced) changed.insert(frame.index);
  });
  if (!status) return status.error();
  return std::vector<uint32_t>(changed.begin(), changed.end());
}

}  // namespace recrash
