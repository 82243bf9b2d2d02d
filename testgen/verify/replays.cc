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
#include <array>
#include <climits>

namespace recrash {
namespace {

// While the subject works this process sleeps so long at a time, to see when it has ended.
constexpr int kAttendMilliseconds = 30;

// What containers and batch systems leave to this process, not what the machine has.
uint32_t Processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set)) : 1;
}

std::string StatusText(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return std::string("was killed by SIG") + (name ? name : "?");
  }
  return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

// The subject may have been mad enough to overwrite the ends of texts.
template <size_t size>
std::string TextOf(const char (&text)[size]) {
  return std::string(text, strnlen(text, size));
}

Try TryOf(const plan::Slot& slot) {
  return {slot.start, slot.verdict, slot.missed != 0, slot.seconds, TextOf(slot.text)};
}

Try NotReplayed(const Start& start, const std::string& why) {
  return {.start = start, .note = "the program that hosts the replays " + why};
}

Result<std::string> ReplayLibrary(const VerifyOptions& options) {
  if (options.support_directory.empty()) return std::string();
  return FindSupportFile("librecrash_replay.so", options.support_directory);
}

// Which frames of a Run are where: not begun yet, with the workers, or done.
class Dispatch {
 public:
  Dispatch(const std::vector<uint32_t>& frames, const Replays::Next& next, uint32_t workers, SharedQueue* queue)
      : frames_(frames),
        next_(next),
        most_posted_(workers + (workers + 1) / 2),
        queue_(queue),
        posted_(frames.size()) {}

  // Posts what comes next. A few more than there are workers, so that none waits for this process; not all, since
  // whether a frame is tried may depend on others.
  void Fill() {
    for (; begun_ < frames_.size() && open_ < most_posted_; ++begun_) Post(begun_, next_(begun_, nullptr));
    if (begun_ == frames_.size() && open_ == 0) queue_->Close();
  }

  // False when all is done.
  bool Attend() {
    if (open_ == 0) return false;
    const uint32_t events = __atomic_load_n(&queue_->get()->events, __ATOMIC_ACQUIRE);
    for (size_t i = 0; i < begun_; ++i) {
      if (posted_[i]) Look(i);
    }
    Fill();
    if (open_ > 0) queue_->Wait(events, kAttendMilliseconds);
    return open_ > 0;
  }

  // The subject has ended, of itself or not.
  void End(const std::string& how) {
    for (size_t i = 0; i < begun_; ++i) {
      if (posted_[i]) Look(i);
      if (posted_[i]) next_(i, Ended(queue_->slot(i).start, how));
    }
    for (; begun_ < frames_.size(); ++begun_)
      if (const auto start = next_(begun_, nullptr)) next_(begun_, Ended(*start, how));
  }

 private:
  const Try* Ended(const Start& start, const std::string& how) { return &(ended_ = NotReplayed(start, how)); }

  void Post(size_t i, const std::optional<Start>& start) {
    posted_[i] = start.has_value();
    if (!start) return;
    ++open_;
    queue_->Post(i, frames_[i], *start);
  }

  void Look(size_t i) {
    const plan::Slot& slot = queue_->slot(i);
    const uint32_t state = __atomic_load_n(&slot.state, __ATOMIC_ACQUIRE);
    if (state != plan::kDone && state != plan::kLost) return;
    const Try outcome = state == plan::kDone ? TryOf(slot) : NotReplayed(slot.start, "lost a process");
    --open_;
    Post(i, next_(i, &outcome));
  }

  const std::vector<uint32_t>& frames_;
  const Replays::Next& next_;
  const size_t most_posted_;
  SharedQueue* queue_;
  std::vector<bool> posted_;  // with the workers
  size_t begun_ = 0;
  size_t open_ = 0;  // how many are posted
  Try ended_;
};

}  // namespace

SharedQueue::SharedQueue(size_t slots) : slots_(slots), size_(sizeof(plan::Queue) + slots * sizeof(plan::Slot)) {
  file_ = MakeInheritedFile("recrash-queue", size_);
  void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (mapped != MAP_FAILED) shared_ = static_cast<plan::Queue*>(mapped);
}

SharedQueue::~SharedQueue() {
  if (shared_) munmap(shared_, size_);
}

void SharedQueue::Clear() {
  memset(static_cast<void*>(shared_), 0, size_);
  shared_->count = static_cast<uint32_t>(slots_);
}

void SharedQueue::Post(size_t i, uint32_t frame, const Start& start) {
  plan::Slot& posted = slot(i);
  posted = plan::Slot{};
  posted.frame = frame;
  posted.start = start;
  __atomic_store_n(&posted.state, plan::kPosted, __ATOMIC_RELEASE);
  __atomic_fetch_add(&shared_->posted, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &shared_->posted, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void SharedQueue::Close() {
  __atomic_store_n(&shared_->closed, 1, __ATOMIC_RELEASE);
  __atomic_fetch_add(&shared_->posted, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &shared_->posted, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SharedQueue::Wait(uint32_t events, int milliseconds) const {
  const timespec limit{0, milliseconds * 1'000'000};
  syscall(SYS_futex, &shared_->events, FUTEX_WAIT, events, &limit, nullptr, 0);
}

Result<Replays> Replays::Prepare(const TestReport& report, const VerifyOptions& options, size_t frames) {
  const Result<std::string> replay_library = ReplayLibrary(options);
  if (!replay_library) return replay_library.error();
  Result<Subject> subject = PrepareSubject(report, options.program, *replay_library);
  if (!subject) return subject.error();
  subject->allow_same_bases = options.allow_same_bases;
  auto queue = std::make_unique<SharedQueue>(frames);
  if (!queue->get()) return Error{Errc::kRefused, std::string("cannot share memory: ") + strerror(errno)};

  PlanOptions plan_options;
  plan_options.flags = plan::kVerify | plan::kSandbox;
  plan_options.seconds_per_frame = options.seconds_per_frame;
  plan_options.memory_limit = options.memory_limit;
  plan_options.queue_fd = queue->descriptor();
  plan_options.workers = options.jobs ? options.jobs : Processors();
  Result<PlanFile> plan = BuildPlan(report, subject->program, subject->rebuilt_libraries, plan_options);
  if (!plan) return plan.error();
  return Replays(report, *std::move(subject), std::move(queue), *std::move(plan), plan_options.workers);
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
  Dispatch dispatch(frames, next, workers_, &*queue_);
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
    const pid_t process = __atomic_load_n(&slot.held, __ATOMIC_ACQUIRE);
    if (process > 0 && !traced) {
      traced = true;
      trace(process, begin);
      begin();  // it was not traced, if it waits still
    }
    queue_->Wait(events, kAttendMilliseconds);
    return __atomic_load_n(&slot.state, __ATOMIC_ACQUIRE) != plan::kDone;
  };
  queue_->Close();
  const Result<std::string> ended = RunToEnd(attend);
  if (!ended) return ended.error();
  if (slot.state != plan::kDone) return NotReplayed(start, *ended);
  return TryOf(slot);
}

}  // namespace recrash
