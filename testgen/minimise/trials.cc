#include "testgen/minimise/trials.h"

#include <signal.h>

#include <algorithm>

namespace recrash {
namespace {

// A call may loop for ever on what it finds. It gets so many times the processor time that the replay takes as it is,
// its start included.
constexpr double kPatience = 25;
constexpr double kLeastLimit = 0.02;  // seconds
// A busy machine lets a process wait. Who did nothing until then is asked once more, until it is clear that this call
// waits for something.
constexpr double kSecondLimit = 0.3;
constexpr uint32_t kSureWaits = 3;
constexpr size_t kLooksAsItIs = 3;
// Between seeds of one search, so that searches with seeds of their own share none.
constexpr uint64_t kApart = 1ull << 32;

bool IsFailure(Verdict verdict) { return verdict == Verdict::kReproduced; }

}  // namespace

std::vector<plan::Fill> SearchFills(uint64_t seed) {
  return {{.byte = 0xa5}, {.byte = 0}, {.byte = 0x5a}, {.kind = plan::Fill::kRandom, .seed = seed}};
}

std::vector<plan::Fill> SearchFillsOfBytes(uint64_t seed) {
  std::vector<plan::Fill> fills = SearchFills(seed);
  for (const uint32_t byte : {0xff, 0x01, 0x7f}) fills.push_back({.byte = byte});
  for (const uint64_t more : {1, 2}) fills.push_back({.kind = plan::Fill::kRandom, .seed = seed + more * kApart});
  return fills;
}

std::vector<plan::Fill> HeldOutFills(uint64_t seed) {
  return {{.byte = 0xfe},
          {.byte = 0x33},
          {.byte = 0x80},
          {.kind = plan::Fill::kRandom, .seed = seed + 3 * kApart},
          {.kind = plan::Fill::kRandom, .seed = seed + 4 * kApart}};
}

Result<Trials> Trials::Begin(const TestReport& report, const VerifyOptions& options, uint32_t position) {
  const ReplayFrame& frame = report.replay.frames[position];
  Result<std::unique_ptr<Experiments>> experiments = Experiments::Begin(report, options, position, frame.start);
  if (!experiments) return experiments.error();
  Trials trials(*std::move(experiments));
  const bool has_address = report.failure.signal == SIGSEGV || report.failure.signal == SIGBUS;
  if (const Status looked = trials.LookAsItIs(has_address); !looked) return looked.error();
  return trials;
}

Status Trials::LookAsItIs(bool has_address) {
  const Result<std::vector<Seen>> seen = experiments_->Run(std::vector<Experiment>(kLooksAsItIs));
  if (!seen) return seen.error();
  as_it_is_ = seen->front();
  compares_addresses_ = has_address;
  double shortest = as_it_is_.seconds;
  for (const Seen& one : *seen) {
    if (!IsFailure(one.verdict)) return Error{Errc::kMissing, "it does not reproduce in each replay: " + one.note};
    shortest = std::min(shortest, one.seconds);
    if (one.address != as_it_is_.address) compares_addresses_ = false;
  }
  limit_ = std::max(kLeastLimit, shortest * kPatience);
  return Ok{};
}

void Trials::StopAfter(double seconds) {
  is_stopped_ = false;
  end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Outcome Trials::OutcomeOf(const Seen& seen) const {
  if (seen.verdict == Verdict::kReturned) return Outcome::kPasses;
  // An address that no processor has gives the address 0, as a null pointer does; the code tells them apart.
  const bool is_same = IsFailure(seen.verdict) && seen.code == as_it_is_.code && seen.pc == as_it_is_.pc &&
                       (!compares_addresses_ || seen.address == as_it_is_.address);
  return is_same ? Outcome::kSame : Outcome::kOther;
}

std::vector<Seen> Trials::Ask(const std::vector<Experiment>& experiments) {
  if (end_ && Clock::now() > *end_) is_stopped_ = true;
  if (is_stopped_ || error_) return {};
  Result<std::vector<Seen>> seen = experiments_->Run(experiments);
  if (!seen) {
    error_ = seen.error();
    return {};
  }
  for (size_t i = 0; i < experiments.size(); ++i) {
    if ((*seen)[i].verdict != Verdict::kWaited || sure_waits_ == kSureWaits) continue;
    Experiment again = experiments[i];
    again.limit = kSecondLimit;
    if (const Result<std::vector<Seen>> second = experiments_->Run({&again, 1})) (*seen)[i] = second->front();
    if ((*seen)[i].verdict == Verdict::kWaited) ++sure_waits_;
  }
  return *std::move(seen);
}

std::vector<bool> Trials::AreSame(const std::vector<Patch>& patches, std::span<const plan::Fill> fills) {
  std::vector<bool> same(patches.size(), true);
  for (const plan::Fill& fill : fills) {
    std::vector<Experiment> experiments;
    std::vector<size_t> asked;
    for (size_t i = 0; i < patches.size(); ++i) {
      if (!same[i]) continue;
      asked.push_back(i);
      experiments.push_back({PiecesOf(patches[i]), fill, limit_});
    }
    if (asked.empty()) break;
    const std::vector<Seen> seen = Ask(experiments);
    for (size_t i = 0; i < asked.size(); ++i) same[asked[i]] = i < seen.size() && OutcomeOf(seen[i]) == Outcome::kSame;
  }
  return same;
}

std::vector<Outcome> Trials::Run(const Patch& patch, std::span<const plan::Fill> fills) {
  std::vector<Experiment> experiments;
  for (const plan::Fill& fill : fills) experiments.push_back({PiecesOf(patch), fill, limit_});
  std::vector<Outcome> outcomes;
  for (const Seen& seen : Ask(experiments)) outcomes.push_back(OutcomeOf(seen));
  return outcomes;
}

}  // namespace recrash
