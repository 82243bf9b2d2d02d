#include "testgen/verify/replays.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "agent/base/readable_name.h"
#include "agent/base/signal_safe/pages.h"
#include "testgen/replay/host/build_types.h"

namespace recrash {
namespace {

// While the subject works this process sleeps so long at a time, to see when it has ended.
constexpr int kAttendMilliseconds = 30;

// Workers find so many Starts ahead. They wake this process when few are left, not after each replay.
constexpr size_t kSlotsPerWorker = 8;

// What containers and batch systems leave to this process, not what the machine has.
uint32_t Processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set)) : 1;
}

std::string StatusText(int status) {
  if (WIFSIGNALED(status)) return "was killed by " + SignalName(WTERMSIG(status));
  return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

// The subject may have been mad enough to overwrite the ends of texts.
template <size_t size>
std::string TextOf(const char (&text)[size]) {
  return std::string(text, strnlen(text, size));
}

Try TryOf(const plan::Slot& slot) {
  return {.start = slot.start,
          .verdict = slot.verdict,
          .missed = slot.missed != plan::kNothing,
          .lacked = slot.missed == plan::kLacked,
          .seconds = slot.seconds,
          .note = TextOf(slot.text)};
}

Try NotReplayed(const Start& start, const std::string& why) {
  return {.start = start, .note = "the program that hosts the replays " + why};
}

// Returns when the word, which the subject changes, is not `value` any more, or after a while.
void WaitForChange(const void* word, uint32_t value) {
  const timespec limit{0, kAttendMilliseconds * 1'000'000};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

// Which frames of a Run are where: not begun yet, in a slot of the queue, or done.
class Dispatch {
 public:
  Dispatch(const std::vector<uint32_t>& frames, const Replays::Next& next, SharedQueue* queue)
      : frames_(frames), next_(next), queue_(queue), places_(queue->size()) {}

  // Posts first Starts into all slots that are free.
  void Fill() {
    for (size_t slot = 0; slot < places_.size() && begun_ < frames_.size();) {
      if (places_[slot]) {
        ++slot;
      } else {
        Begin(slot, begun_++);
      }
    }
    if (IsDone()) {
      queue_->Close();
    } else {
      queue_->Announce();
    }
  }

  // False when all is done.
  bool Attend() {
    if (IsDone()) return false;
    const uint32_t events = __atomic_load_n(&queue_->get()->events, __ATOMIC_ACQUIRE);
    bool timed_out = false;
    for (size_t slot = 0; slot < places_.size(); ++slot) {
      const std::optional<Verdict> verdict = Look(slot);
      timed_out |= verdict && HadNoEnd(*verdict);
    }
    if (timed_out) AskAgain();
    Fill();
    if (!IsDone()) WaitForChange(&queue_->get()->events, events);
    return !IsDone();
  }

  // The subject has ended, of itself or not.
  void End(const std::string& how) {
    for (size_t slot = 0; slot < places_.size(); ++slot) {
      Look(slot);
      if (places_[slot]) next_(places_[slot]->frame, Ended(queue_->slot(slot).start, how));
    }
    for (; begun_ < frames_.size(); ++begun_)
      if (const auto start = next_(begun_, nullptr)) next_(begun_, Ended(*start, how));
  }

 private:
  // What a slot has.
  struct Place {
    size_t frame;
    bool is_first;  // Start of the frame
  };

  bool IsDone() const {
    return begun_ == frames_.size() && std::ranges::none_of(places_, &std::optional<Place>::has_value);
  }

  const Try* Ended(const Start& start, const std::string& how) { return &(ended_ = NotReplayed(start, how)); }

  void Begin(size_t slot, size_t frame) { Post(slot, {frame, true}, next_(frame, nullptr)); }

  void Post(size_t slot, const Place& place, const std::optional<Start>& start) {
    places_[slot].reset();
    if (!start) return;
    places_[slot] = place;
    queue_->Post(slot, frames_[place.frame], *start);
  }

  // Gives the verdict of a replay that has ended in the slot.
  std::optional<Verdict> Look(size_t slot) {
    if (!places_[slot]) return std::nullopt;
    const plan::Slot& shared = queue_->slot(slot);
    const uint32_t state = __atomic_load_n(&shared.state, __ATOMIC_ACQUIRE);
    if (state != plan::kDone && state != plan::kLost) return std::nullopt;
    const Try outcome = state == plan::kDone ? TryOf(shared) : NotReplayed(shared.start, "lost a process");
    const size_t frame = places_[slot]->frame;
    Post(slot, {frame, false}, next_(frame, &outcome));
    return outcome.verdict;
  }

  // Whether a frame is tried may depend on others: those that no worker has taken yet are asked for again.
  void AskAgain() {
    for (size_t slot = 0; slot < places_.size(); ++slot)
      if (places_[slot] && places_[slot]->is_first && queue_->TakeBack(slot)) Begin(slot, places_[slot]->frame);
  }

  const std::vector<uint32_t>& frames_;
  const Replays::Next& next_;
  SharedQueue* queue_;
  std::vector<std::optional<Place>> places_;  // by slot
  size_t begun_ = 0;
  Try ended_;
};

}  // namespace

namespace {

size_t SlotBytes(size_t size) { return signal_safe::PageUp(sizeof(plan::Queue) + size * sizeof(plan::Slot)); }

}  // namespace

// Slots, pieces, then what a replay may write: for each watched page whether it was touched.
SharedQueue::SharedQueue(size_t size, size_t pages, size_t pieces)
    : size_(size),
      pages_(pages),
      room_(pieces),
      bytes_(SlotBytes(size) + signal_safe::PageUp(size * pieces * sizeof(plan::Piece)) + pages) {
  file_ = MakeInheritedFile("recrash-queue", bytes_);
  void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapped != MAP_FAILED) shared_ = static_cast<plan::Queue*>(mapped);
}

SharedQueue::~SharedQueue() {
  if (shared_) munmap(shared_, bytes_);
}

void SharedQueue::Clear() {
  memset(static_cast<void*>(shared_), 0, SlotBytes(size_));
  shared_->count = static_cast<uint32_t>(size_);
  if (pages_) shared_->touched = static_cast<uint32_t>(bytes_ - pages_);
  shared_->room = static_cast<uint32_t>(room_);
  if (room_) shared_->pieces = SlotBytes(size_);
}

std::span<const uint8_t> SharedQueue::touched() const {
  return {reinterpret_cast<const uint8_t*>(shared_) + bytes_ - pages_, pages_};
}

void SharedQueue::Post(size_t i, uint32_t frame, const Start& start) { Post(i, frame, start, {{}, {}, 0}); }

void SharedQueue::Post(size_t i, uint32_t frame, const Start& start, const Change& change) {
  plan::Slot& posted = slot(i);
  posted = plan::Slot{};
  posted.order = ++last_order_;
  posted.frame = frame;
  posted.start = start;
  posted.pieces = static_cast<uint32_t>(change.pieces.size());
  posted.fill = change.fill;
  posted.limit = change.limit;
  if (!change.pieces.empty())
    memcpy(reinterpret_cast<char*>(shared_) + shared_->pieces + i * room_ * sizeof(plan::Piece), change.pieces.data(),
           change.pieces.size_bytes());
  __atomic_store_n(&posted.state, plan::kPosted, __ATOMIC_RELEASE);
}

bool SharedQueue::TakeBack(size_t i) {
  uint32_t state = plan::kPosted;
  return __atomic_compare_exchange_n(&slot(i).state, &state, plan::kIdle, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void SharedQueue::Announce() {
  __atomic_fetch_add(&shared_->posted, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &shared_->posted, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedQueue::WaitForEvent(uint32_t events) const { WaitForChange(&shared_->events, events); }

void SharedQueue::NoteEvent() {
  __atomic_fetch_add(&shared_->events, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &shared_->events, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedQueue::Close() {
  __atomic_store_n(&shared_->closed, 1, __ATOMIC_RELEASE);
  Announce();
}

Result<Replays> Replays::Prepare(const TestReport& report, const VerifyOptions& options,
                                 const std::vector<plan::Range>& watched, size_t pieces) {
  Result<Subject> subject = PrepareSubject(report, options.program, options.code, options.support_directory);
  if (!subject) return subject.error();
  subject->allow_same_bases = options.allow_same_bases;
  const uint32_t workers = options.jobs ? options.jobs : Processors();
  uint64_t pages = 0;
  for (const plan::Range& range : watched) pages += (range.end - range.start) / plan::kPageSize;
  auto queue = std::make_unique<SharedQueue>(workers * kSlotsPerWorker, pages, pieces);
  if (!queue->get()) return Error{Errc::kRefused, std::string("cannot share memory: ") + strerror(errno)};

  BuildTypes types = FitToBuild(report, *subject, options.code.search_paths);
  PlanOptions plan_options;
  // On the build that crashed an address tells the place.
  std::unique_ptr<Inquiries> inquiries;
  const Module* program = report.program();
  if (!subject->rebuilt_libraries.empty() || (program && !IsSameBuild(report, *program, subject->program))) {
    inquiries = std::make_unique<Inquiries>(report, *subject, options.code.search_paths);
    inquiries->AnswerMeanwhile();
    plan_options.inquiries_fd = inquiries->descriptor();
  }
  plan_options.flags = options.sandbox ? plan::kVerify | plan::kSandbox : plan::kVerify;
  plan_options.seconds_per_frame = options.seconds_per_frame;
  plan_options.memory_limit = options.memory_limit;
  plan_options.queue_fd = queue->descriptor();
  plan_options.to_load = subject->code.to_load;
  plan_options.trust_report = subject->trust_report;
  plan_options.workers = workers;
  plan_options.watched = watched;
  types.MoveTo(&plan_options);
  Result<Fd> plan = BuildPlan(types.report(report), subject->program, subject->rebuilt_libraries, plan_options);
  if (!plan) return plan.error();
  return Replays(report, *std::move(subject), std::move(queue), std::move(inquiries), *std::move(plan));
}

Result<std::string> Replays::RunToEnd(const std::function<bool()>& attend) {
  const Result<int> status = RunSubject(*report_, subject_, plan_, attend);
  if (!status) return status.error();
  const std::string problem = TextOf(queue_->get()->problem);
  if (!problem.empty()) return Error{Errc::kRefused, problem};
  if (!queue_->get()->started) {
    return Error{Errc::kRefused, subject_.program.path + " " + StatusText(*status) +
                                     " before its main was reached; its static initialisers or the loader did that"};
  }
  return StatusText(*status);
}

Status Replays::Run(const std::vector<uint32_t>& frames, const Next& next) {
  queue_->Clear();
  Dispatch dispatch(frames, next, queue_.get());
  dispatch.Fill();
  const Result<std::string> ended = RunToEnd([&] { return dispatch.Attend(); });
  if (!ended) return ended.error();
  dispatch.End(*ended);
  return Ok{};
}

Result<Try> Replays::RunHeld(uint32_t frame, const Start& start, const Trace& trace) {
  queue_->Clear();
  plan::Slot& slot = queue_->slot(0);
  queue_->Post(0, frame, start);
  slot.hold = 1;
  bool traced = false;
  const auto begin = [&] {
    __atomic_store_n(&slot.go, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &slot.go, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  };
  const auto attend = [&]() -> bool {
    const uint32_t events = __atomic_load_n(&queue_->get()->events, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&slot.held, __ATOMIC_ACQUIRE) && !traced) {
      traced = true;
      trace(slot.process, begin);
      begin();  // it was not traced, if it waits still
    }
    if (traced) {
      WaitForChange(&queue_->get()->events, events);
    } else {
      WaitForChange(&slot.held, 0);
    }
    return __atomic_load_n(&slot.state, __ATOMIC_ACQUIRE) != plan::kDone;
  };
  queue_->Close();
  const Result<std::string> ended = RunToEnd(attend);
  if (!ended) return ended.error();
  if (slot.state != plan::kDone) return NotReplayed(start, *ended);
  return TryOf(slot);
}

}  // namespace recrash
