// Replays of one frame in which a part of the memory is something else, many in one start of the subject. Each runs in
// a process of its own, in the sandbox and the limits of replays.
//
//   auto experiments = Experiments::Begin(report, options, 0, frame.start);
//   const auto seen = (*experiments)->Run({{{.pieces = {{0x7f10, 8}}, .fill = {.byte = 0xa5}}}});
//   if (seen && (*seen)[0].verdict == Verdict::kReturned) ...
#ifndef RECRASH_TESTGEN_VERIFY_EXPERIMENTS_H_
#define RECRASH_TESTGEN_VERIFY_EXPERIMENTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/verify/replays.h"
#include "testgen/verify/verify.h"

namespace recrash {

struct Experiment {
  std::vector<plan::Piece> pieces;  // at most Experiments::kMostPieces
  plan::Fill fill;
  double limit = 0;  // of processor time, in seconds; 0: that of the options
};

// What an experiment came to.
struct Seen {
  Verdict verdict = Verdict::kCannotReplay;
  // Of a failure: si_code, si_addr, and the innermost place of the program's own.
  int32_t code = 0;
  TargetAddress address;
  TargetAddress pc;
  double seconds = 0;  // of processor time
  std::string note;
};

class Experiments {
 public:
  static constexpr size_t kMostPieces = 1 << 17;

  // Starts the subject. `frame`: a position in the report's frames. REQUIRES: `report` lives as long as this.
  static Result<std::unique_ptr<Experiments>> Begin(const TestReport& report, const VerifyOptions& options,
                                                    uint32_t frame, const Start& start);
  Experiments(const Experiments&) = delete;
  Experiments& operator=(const Experiments&) = delete;
  ~Experiments();

  // Runs all, several at a time, and returns what each came to, in their order. An error: the subject has ended, or one
  // of them has too many pieces.
  Result<std::vector<Seen>> Run(std::span<const Experiment> experiments);

  // The stack had overflowed: how deep it is decides.
  bool is_overflow() const { return is_overflow_; }

  uint64_t count() const { return count_; }  // of those that were run so far

 private:
  Experiments(Replays replays, uint32_t frame, const Start& start)
      : replays_(std::move(replays)), frame_(frame), start_(start), places_(replays_.queue_->size()) {}

  void Post(std::span<const Experiment> experiments);
  bool Take(std::vector<Seen>* seen);
  Error WhyEnded();

  Replays replays_;
  uint32_t frame_;
  Start start_;
  std::vector<std::optional<size_t>> places_;  // which experiment is in a slot
  size_t begun_ = 0;
  uint64_t count_ = 0;
  bool is_overflow_ = false;
  std::thread runner_;
  std::atomic<bool> ended_ = false;
  Result<std::string> how_ = std::string();  // once it has ended
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_EXPERIMENTS_H_
