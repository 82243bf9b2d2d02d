// Replays of a report's frames in the subject, as a policy asks for them. The plan is written once; each Run is a start
// of the subject of its own, so that what the kernel draws at a start (addresses, stack canary) is drawn anew.
//
//   Result<Replays> replays = Replays::Prepare(report, options);
//   replays->Run(frames, [](size_t i, const Try* last) { return last ? std::nullopt : std::optional<Start>(Start{});
//   });
#ifndef RECRASH_TESTGEN_VERIFY_REPLAYS_H_
#define RECRASH_TESTGEN_VERIFY_REPLAYS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/replay/host/inquiries.h"
#include "testgen/replay/host/subject.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/replay/plan/plan_builder.h"
#include "testgen/verify/starts.h"
#include "testgen/verify/verify.h"

namespace recrash {

// Memory that the subject takes its work from and writes its results into.
class SharedQueue {
 public:
  // In slots; of memory that is watched; room for pieces of each slot's experiment.
  SharedQueue(size_t size, size_t pages, size_t pieces = 0);
  SharedQueue(const SharedQueue&) = delete;
  SharedQueue& operator=(const SharedQueue&) = delete;
  ~SharedQueue();

  int descriptor() const { return file_.get(); }
  plan::Queue* get() const { return shared_; }
  size_t size() const { return size_; }
  plan::Slot& slot(size_t i) const { return shared_->slots[i]; }
  // For each watched page whether replays have touched it since the queue was made.
  std::span<const uint8_t> touched() const;
  void Clear();
  // Fills a slot; workers that sleep see it after Announce.
  void Post(size_t i, uint32_t frame, const Start& start);
  // The same of an experiment. REQUIRES: there is room for so many pieces.
  struct Change {
    std::span<const plan::Piece> pieces;
    plan::Fill fill;
    double limit;
  };
  void Post(size_t i, uint32_t frame, const Start& start, const Change& change);
  size_t room() const { return room_; }
  void Announce();
  // True when no worker had taken the slot: it is free again.
  bool TakeBack(size_t i);
  // No more will be posted.
  void Close();

  // How often slots were handed back; the subject may wait until several are. A waiter goes on when the number is
  // another one, or after a short while.
  uint32_t events() const { return __atomic_load_n(&shared_->events, __ATOMIC_ACQUIRE); }
  void WaitForEvent(uint32_t events) const;
  void NoteEvent();

 private:
  size_t size_;
  size_t pages_;
  size_t room_;
  size_t bytes_;
  Fd file_;
  plan::Queue* shared_ = nullptr;
  uint32_t last_order_ = 0;
};

class Replays {
 public:
  // `watched`: pages of which replays note whether they touch them. They lie in memory that the report has outside the
  // modules. `pieces`: the most of an experiment (experiments.h).
  static Result<Replays> Prepare(const TestReport& report, const VerifyOptions& options,
                                 const std::vector<plan::Range>& watched = {}, size_t pieces = 0);

  // Returns from what the i-th frame of a Run is replayed next, or nothing when it is done. `last` is the replay of the
  // frame before, null at first.
  using Next = std::function<std::optional<Start>(size_t i, const Try* last)>;

  // Replays `frames`, given as positions in the report's. `next` is asked in their order for a frame's first Start,
  // some time before a worker is free for it. It is asked again when another replay has timed out before a worker took
  // that Start. A frame on which the subject ended is told by a Try that kCannotReplay.
  Status Run(const std::vector<uint32_t>& frames, const Next& next);

  // For each watched page whether a replay has touched it so far. A page that only the kernel looks at, in a system
  // call, is not noted: the call fails.
  std::span<const uint8_t> touched() const { return queue_->touched(); }

  // One replay, which waits before its call. `trace` is given its process, and says when the call may begin; the replay
  // has ended, or goes on alone, when it comes back.
  using Trace = std::function<void(pid_t process, const std::function<void()>& begin)>;
  Result<Try> RunHeld(uint32_t frame, const Start& start, const Trace& trace);

 private:
  friend class Experiments;

  Replays(const TestReport& report, Subject subject, std::unique_ptr<SharedQueue> queue,
          std::unique_ptr<Inquiries> inquiries, Fd plan)
      : report_(&report),
        subject_(std::move(subject)),
        queue_(std::move(queue)),
        inquiries_(std::move(inquiries)),
        plan_(std::move(plan)) {}

  // Runs the subject to its end; gives what became of it, for people.
  Result<std::string> RunToEnd(const std::function<bool()>& attend);

  const TestReport* report_;
  Subject subject_;
  std::unique_ptr<SharedQueue> queue_;
  std::unique_ptr<Inquiries> inquiries_;
  Fd plan_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_REPLAYS_H_
