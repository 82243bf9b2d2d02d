// What an experiment says: whether a call fails the same although a part of its memory is something else.
//
//   Result<Trials> trials = Trials::Begin(report, options, 0);
//   const std::vector<bool> same = trials->AreSame({patch}, SearchFills(seed));
//   const std::vector<Outcome> outcomes = trials->Run(patch, HeldOutFills(seed));
#ifndef RECRASH_TESTGEN_MINIMISE_TRIALS_H_
#define RECRASH_TESTGEN_MINIMISE_TRIALS_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent/base/result.h"
#include "testgen/minimise/patch.h"
#include "testgen/verify/experiments.h"

namespace recrash {

enum class Outcome : uint8_t {
  kSame,    // the same signal, at the same place, of the same address
  kPasses,  // the call returns
  kOther,
};

// Those that a search has to bear, and those that check its result. A part of a word is easily right by chance, so a
// search among bytes has to bear more of them.
std::vector<plan::Fill> SearchFills(uint64_t seed);
std::vector<plan::Fill> SearchFillsOfBytes(uint64_t seed);
std::vector<plan::Fill> HeldOutFills(uint64_t seed);

class Trials {
 public:
  // Replays the frame at `position` as it is, to have what others are compared with. kMissing: it does not reproduce.
  static Result<Trials> Begin(const TestReport& report, const VerifyOptions& options, uint32_t position);

  // For each of the patches whether the call fails the same with all of the fills. No where the time is up.
  std::vector<bool> AreSame(const std::vector<Patch>& patches, std::span<const plan::Fill> fills);

  // What becomes of the call with each of the fills. Empty: the subject has ended.
  std::vector<Outcome> Run(const Patch& patch, std::span<const plan::Fill> fills);

  // After that time every answer is no, until it is called again.
  void StopAfter(double seconds);
  bool is_stopped() const { return is_stopped_; }
  const std::optional<Error>& error() const { return error_; }

  const Seen& as_it_is() const { return as_it_is_; }
  bool compares_addresses() const { return compares_addresses_; }
  bool is_overflow() const { return experiments_->is_overflow(); }
  uint64_t count() const { return experiments_->count(); }

 private:
  using Clock = std::chrono::steady_clock;

  explicit Trials(std::unique_ptr<Experiments> experiments) : experiments_(std::move(experiments)) {}
  Status LookAsItIs(bool has_address);
  std::vector<Seen> Ask(const std::vector<Experiment>& experiments);
  Outcome OutcomeOf(const Seen& seen) const;

  std::unique_ptr<Experiments> experiments_;
  Seen as_it_is_;
  bool compares_addresses_ = true;
  double limit_ = 0;
  uint32_t sure_waits_ = 0;
  std::optional<Clock::time_point> end_;
  bool is_stopped_ = false;
  std::optional<Error> error_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_MINIMISE_TRIALS_H_
