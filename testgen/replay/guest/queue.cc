#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testgen/replay/guest/inputs.h"
#include "testgen/replay/guest/keeper.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/run.h"
#include "testgen/replay/guest/world.h"

namespace recrash::replay {
namespace {

// How long this process waits for work before it looks whether a worker was killed.
constexpr timespec kBetweenLooks{0, 200'000'000};

uint32_t StateOf(const plan::Slot& slot) { return __atomic_load_n(&slot.state, __ATOMIC_ACQUIRE); }

void WakeTool(plan::Queue* queue) { syscall(SYS_futex, &queue->events, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

// The slot that was posted first of those that are left, if any.
plan::Slot* FindPosted(plan::Queue* queue, uint32_t* left) {
  plan::Slot* first = nullptr;
  *left = 0;
  for (uint32_t i = 0; i < world.run.slot_count; ++i) {
    plan::Slot* slot = &queue->slots[i];
    if (StateOf(*slot) != plan::kPosted) continue;
    ++*left;
    if (!first || slot->order < first->order) first = slot;
  }
  return first;
}

plan::Slot* Take(plan::Queue* queue) {
  uint32_t left = 0;
  while (plan::Slot* slot = FindPosted(queue, &left)) {
    uint32_t state = plan::kPosted;
    if (__atomic_compare_exchange_n(&slot->state, &state, plan::kTaken, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      return slot;
    }
  }
  return nullptr;
}

// While it sleeps the tool costs nothing. It posts so much ahead that it need not look at each outcome at once.
void HandBack(plan::Queue* queue, plan::Slot* slot, uint32_t state) {
  const bool may_change_all = state == plan::kLost || HadNoEnd(slot->verdict);
  __atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
  __atomic_fetch_add(&queue->events, 1, __ATOMIC_RELEASE);
  uint32_t left = 0;
  FindPosted(queue, &left);
  if (may_change_all || left <= world.plan->workers) WakeTool(queue);
}

void Replay(plan::Slot* slot) {
  const auto frames = TableOf<plan::Frame>(world.plan->frames);
  const plan::Frame& frame = frames[slot->frame < frames.count ? slot->frame : 0];
  const double begin = Now();
  slot->verdict = RunFrame(frame, slot->start, slot->text, sizeof slot->text, slot);
  slot->seconds = Now() - begin;
  const Observed& observed = *world.run.observed;
  slot->computed = world.run.computed;
  slot->address = observed.address;
  slot->code = observed.code;
  slot->pc = ToRecorded(observed.own_pc ? observed.own_pc : observed.pc);
  slot->missed = !observed.missed ? plan::kNothing : observed.absent[0] ? plan::kLacked : plan::kMaybe;
}

struct Workers {
  pid_t processes[kMostWorkers] = {};
  uint32_t count = 0;
};

// The tool would wait for ever for what a killed worker has left undone.
void GiveUpLost(plan::Queue* queue, Workers* workers) {
  for (uint32_t i = 1; i < workers->count; ++i) {
    if (workers->processes[i] <= 0 || waitpid(workers->processes[i], nullptr, WNOHANG) <= 0) continue;
    for (uint32_t j = 0; j < world.run.slot_count; ++j) {
      plan::Slot* slot = &queue->slots[j];
      if (slot->state != plan::kTaken || slot->worker != workers->processes[i]) continue;
      HandBack(queue, slot, plan::kLost);
    }
    workers->processes[i] = 0;
  }
}

// `workers` are those that this process has started.
void Work(plan::Queue* queue, Workers* workers) {
  const auto self = static_cast<int32_t>(Raw(SYS_getpid));
  for (;;) {
    const uint32_t posted = __atomic_load_n(&queue->posted, __ATOMIC_ACQUIRE);
    if (plan::Slot* slot = Take(queue)) {
      slot->worker = self;
      Replay(slot);
      HandBack(queue, slot, plan::kDone);
      continue;
    }
    if (__atomic_load_n(&queue->closed, __ATOMIC_ACQUIRE)) return;
    syscall(SYS_futex, &queue->posted, FUTEX_WAIT, posted, workers ? &kBetweenLooks : nullptr, nullptr, 0);
    if (workers) GiveUpLost(queue, workers);
  }
}

// A copy of this process, which replays by itself: a verdict is the same as of one after the other. By the bare system
// call, as a replay's own process.
pid_t StartWorker(plan::Queue* queue, uint32_t number) {
  const long parent = Raw(SYS_getpid);
  const long worker = Raw(SYS_clone, SIGCHLD);
  if (worker != 0) return static_cast<pid_t>(worker);
  DieWith(parent);
  UseObserved(number);
  Work(queue, nullptr);
  RemoveFolder();
  ExitNow(0);
}

plan::Queue* MapQueue() {
  struct stat file = {};
  fstat(world.plan->queue_fd, &file);
  auto size = static_cast<size_t>(file.st_size);
  void* shared = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, world.plan->queue_fd, 0);
  if (shared == MAP_FAILED) Problem("cannot map the queue: %s", strerror(errno));
  close(world.plan->queue_fd);
  auto* queue = static_cast<plan::Queue*>(shared);
  if (queue->touched) {
    world.touched = static_cast<uint8_t*>(shared) + queue->touched;
    size = queue->touched;  // what lies behind it stays a replay's
  }
  world.run.queue = queue;
  world.run.queue_size = size;
  // Counted now: a replay that waits for its tracer may have written over it.
  world.run.slot_count = (size - sizeof *queue) / sizeof *queue->slots;
  if (queue->count < world.run.slot_count) world.run.slot_count = queue->count;
  return queue;
}

}  // namespace

void WorkOffQueue() {
  plan::Queue* queue = MapQueue();
  queue->started = 1;
  Workers workers;
  workers.count = world.plan->workers < kMostWorkers ? world.plan->workers : kMostWorkers;
  KeptFolder();
  // This process is the first of them; where no other can be started it does all.
  for (uint32_t i = 1; i < workers.count; ++i) workers.processes[i] = StartWorker(queue, i);
  Work(queue, &workers);
  for (const pid_t worker : workers.processes) {
    while (worker > 0 && waitpid(worker, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace recrash::replay
