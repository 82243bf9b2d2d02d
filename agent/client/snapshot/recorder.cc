// recrash_on_entry: what a patched function calls first.
//
// Runs in the middle of the program, on its stack, in any thread, in signal handlers, in children of fork: no lock that
// is waited for, no allocation, no libc call that could be a cancellation point or set errno. Its memory is one
// mapping that children do not get; a page that the kernel wipes at fork tells them that nothing is recorded there.
#include "agent/client/snapshot/recorder.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/client/client.h"
#include "agent/client/snapshot/budget.h"
#include "agent/client/snapshot/entry_copies.h"
#include "agent/client/snapshot/entry_hook.h"
#include "agent/client/snapshot/kept_frames.h"
#include "agent/client/snapshot/left_out.h"
#include "agent/client/snapshot/open_files.h"
#include "agent/client/snapshot/page_copies.h"
#include "agent/client/snapshot/system_call.h"
#include "agent/client/undisturbed.h"

namespace recrash::client {
namespace {

using snapshot::Call;
using snapshot::kPage;
using snapshot::LogFrame;
using snapshot::LogHeader;
using snapshot::Outcome;
using snapshot::Stop;
using snapshot::ThreadTime;

// Beside the log, in the same mapping.
struct Recorder {
  snapshot::VersionLog log;
  snapshot::WriteTracking tracking;
  snapshot::FunctionRates rates;
  snapshot::KeptFrames kept;
  snapshot::CpuBudget budget;
  snapshot::PageCopies copies;
  snapshot::EntryCopies entry_copies;  // where the kernel tracks no writes
  snapshot::LogMapList mappings;
  snapshot::LogFileList files;
  uint32_t busy;
  uint32_t map_list;  // of the last snapshot
  uint32_t file_list;
};

// In a page that a child of fork finds as zeros.
struct Alive {
  uint32_t has_log;
  uint32_t recording;
};

Alive* g_alive;
Recorder* g_recorder;
uint32_t g_beginning;

RECRASH_SIGNAL_SAFE uint64_t Time(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * snapshot::kSecond + static_cast<uint64_t>(now.tv_nsec);
}

RECRASH_SIGNAL_SAFE void* Map(uint64_t size) {
  const long address =
      Call(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address > 0 ? reinterpret_cast<void*>(address) : nullptr;
}

RECRASH_SIGNAL_SAFE bool MapRecorder() {
  const uint64_t memory = uint64_t{g_state.options.snapshot_memory_mib} << 20;
  const uint64_t log_size = snapshot::VersionLog::SizeFor(memory);
  const uint64_t size = (log_size + sizeof(Recorder) + kPage - 1) & ~(kPage - 1);
  auto* alive = static_cast<Alive*>(Map(kPage));
  void* const mapping = Map(size);
  if (alive == nullptr || mapping == nullptr) return false;
  if (Call(SYS_madvise, mapping, size, MADV_DONTFORK) != 0) return false;
  if (!snapshot::LeftOut("wipe_on_fork") && Call(SYS_madvise, alive, kPage, MADV_WIPEONFORK) != 0) return false;
  auto* recorder = reinterpret_cast<Recorder*>(static_cast<char*>(mapping) + log_size);
  recorder->log.Begin(mapping, memory);
  LogHeader& log = recorder->log.header();
  log.size = size;
  // Large pages for what pages are copied to, where there are any: a first touch costs more than the copy.
  Call(SYS_madvise, static_cast<char*>(mapping) + log.contents, memory, MADV_HUGEPAGE);
  log.pid = static_cast<int32_t>(Call(SYS_getpid));
  log.stop = recorder->tracking.Open(log.stop_error);
  if (log.stop != Stop::kNone) snapshot::FallBackToCopies(log, g_state.options.snapshot_depth);
  memcpy(log.descriptors, recorder->tracking.descriptors(), sizeof log.descriptors);
  alive->has_log = 1;
  alive->recording = log.stop == Stop::kNone;
  g_recorder = recorder;
  __atomic_store_n(&g_alive, alive, __ATOMIC_RELEASE);
  return true;
}

// At the first entry. False: not in this process, or another thread is at it.
RECRASH_SIGNAL_SAFE bool Begin() {
  if (g_state.options.snapshot_cpu == 0 || g_state.options.snapshot_memory_mib == 0) return false;
  if (__atomic_exchange_n(&g_beginning, 1, __ATOMIC_ACQ_REL) != 0) return false;
  return MapRecorder();
}

// A handler that came in the middle of a snapshot, and jumped out of it, would leave the recorder busy for ever.
// Failures of the thread itself stay as they are: held back, they would end the program without a report.
class SignalsHeldBack {
 public:
  RECRASH_SIGNAL_SAFE SignalsHeldBack() {
    uint64_t held = ~uint64_t{0};
    for (int number = 1; number < NSIG; ++number) {
      if (IsFailure(number)) held &= ~(uint64_t{1} << (number - 1));
    }
    if (snapshot::LeftOut("hold_signals")) held = 0;
    Call(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before_, sizeof before_);
  }
  RECRASH_SIGNAL_SAFE ~SignalsHeldBack() { Call(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_); }

 private:
  uint64_t before_ = 0;
};

RECRASH_SIGNAL_SAFE uint64_t ThreadPointer() {
  uint64_t pointer = 0;
  asm("movq %%fs:0, %0" : "=r"(pointer));  // the thread control block begins with its own address
  return pointer;
}

RECRASH_SIGNAL_SAFE bool HasOtherThreads() {
  struct stat status = {};
  return Call(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &status, 0) == 0 && status.st_nlink > 3;
}

// The place of a list like `list` among `lists`: that of the last snapshot while nothing has changed, or a free one.
template <typename List, typename Element>
RECRASH_SIGNAL_SAFE bool Share(const List& list, const Element* elements, List* lists, uint32_t most, uint32_t& last,
                               Element* (*elements_of)(List&)) {
  const uint64_t size = list.count * sizeof(Element);
  if (lists[last].count == list.count && memcmp(elements_of(lists[last]), elements, size) == 0) return true;
  for (uint32_t i = 0; i < most; ++i) {
    if (lists[i].references != 0) continue;
    memcpy(elements_of(lists[i]), elements, size);
    lists[i].count = list.count;
    last = i;
    return true;
  }
  return false;
}

RECRASH_SIGNAL_SAFE bool ShareLists(Recorder& recorder) {
  return Share<snapshot::LogMapList, snapshot::LogRange>(
             recorder.mappings, recorder.mappings.ranges, recorder.log.map_lists(), snapshot::kMostMapLists,
             recorder.map_list, [](snapshot::LogMapList& list) { return list.ranges; }) &&
         Share<snapshot::LogFileList, snapshot::LogFile>(
             recorder.files, recorder.files.files, recorder.log.file_lists(), snapshot::kMostFileLists,
             recorder.file_list, [](snapshot::LogFileList& list) { return list.files; });
}

RECRASH_SIGNAL_SAFE Outcome TakeSnapshot(Recorder& recorder, const EntryRegisters& at, uint64_t deadline) {
  LogHeader& log = recorder.log.header();
  LogFrame frame = {};
  frame.thread = ThreadPointer();
  recorder.log.DropReturned(frame.thread, at.sp);
  if (!recorder.log.has_room_for_frame()) return Outcome::kNoRoom;
  frame.number = ++log.number;
  frame.others_ran = HasOtherThreads();
  log.stop = recorder.tracking.ListMappings(log, recorder.mappings);
  if (log.stop != Stop::kNone) return Outcome::kStopped;
  const Outcome outcome =
      log.copy_depth != 0
          ? recorder.entry_copies.Take(recorder.log, recorder.mappings, at, deadline, frame)
          : recorder.copies.Take(recorder.log, recorder.tracking, recorder.mappings, log.number, deadline);
  if (outcome != Outcome::kTaken) return outcome;
  snapshot::ListOpenFiles(recorder.log, recorder.tracking.descriptors(), recorder.files);
  if (!ShareLists(recorder)) {
    recorder.log.GivePages(frame.copies);
    return Outcome::kNoRoom;
  }
  frame.map_list = recorder.map_list;
  frame.file_list = recorder.file_list;
  frame.brk_end = static_cast<uint64_t>(Call(SYS_brk, 0));
  memcpy(&frame.return_address, reinterpret_cast<const void*>(at.sp), sizeof frame.return_address);
  frame.registers = at;
  recorder.log.Add(frame);
  return Outcome::kTaken;
}

RECRASH_SIGNAL_SAFE void Count(snapshot::LogFigures& figures, Outcome outcome) {
  switch (outcome) {
    case Outcome::kTaken:
      ++figures.taken;
      break;
    case Outcome::kPause:
      ++figures.skipped_pause;
      break;
    case Outcome::kNoRoom:
      ++figures.skipped_memory;
      break;
    case Outcome::kStopped:
      break;
  }
}

RECRASH_SIGNAL_SAFE void Enter(Recorder& recorder, const EntryRegisters& at, uint64_t now) {
  snapshot::LogFigures& figures = recorder.log.header().figures;
  const uint32_t percent = g_state.options.snapshot_cpu;
  const uint64_t begun = ThreadTime();
  if (!recorder.budget.HasSome(Time(CLOCK_PROCESS_CPUTIME_ID), percent)) {
    ++figures.skipped_budget;
    recorder.rates.Delay(at.entry, now, ThreadTime() - begun, percent);
    return;
  }
  const uint64_t longest = uint64_t{g_state.options.snapshot_pause_ms} * 1000000;
  const Outcome outcome = TakeSnapshot(recorder, at, begun + longest);
  Count(figures, outcome);
  if (outcome == Outcome::kStopped) {
    if (recorder.log.header().stop == Stop::kNone) recorder.log.header().stop = Stop::kDescriptorsGone;
    __atomic_store_n(&g_alive->recording, 0, __ATOMIC_RELEASE);
  }
  const uint64_t cost = ThreadTime() - begun;
  figures.cpu_ns += cost;
  if (cost > figures.longest_pause_ns) figures.longest_pause_ns = cost;
  recorder.budget.Spend(cost);
  // What was broken off goes on at the function's next entry.
  if (outcome != Outcome::kPause) recorder.rates.Delay(at.entry, now, cost, percent);
}

// The place on the stack may be that of a frame that is kept, and whoever is busy moves frames about.
RECRASH_SIGNAL_SAFE void GoWithout(Recorder& recorder, bool may_end_frames) {
  ++recorder.log.header().figures.skipped_busy;
  if (may_end_frames) __atomic_store_n(&recorder.log.header().unsure, 1, __ATOMIC_RELEASE);
}

// One thread at a time; a second one, or a handler, goes without.
RECRASH_SIGNAL_SAFE void EnterAlone(Recorder& recorder, const EntryRegisters& at, uint64_t now, bool is_due,
                                    bool may_end_frames) {
  const SignalsHeldBack held_back;
  if (__atomic_exchange_n(&recorder.busy, 1, __ATOMIC_ACQUIRE) != 0 && !snapshot::LeftOut("busy"))
    return GoWithout(recorder, may_end_frames);
  const uint64_t thread = ThreadPointer();
  snapshot::VersionLog& log = recorder.log;
  if (__atomic_exchange_n(&log.header().unsure, 0, __ATOMIC_ACQ_REL) != 0) log.DropAllFrames();
  if (may_end_frames) log.DropReturned(thread, at.sp);
  if (is_due) Enter(recorder, at, now);
  recorder.kept.Update(at.entry, thread, log.frames(), log.header().frame_count);
  __atomic_store_n(&recorder.busy, 0, __ATOMIC_RELEASE);
}

// Near the end of its stack a function has it for itself: an overflow should be the program's.
RECRASH_SIGNAL_SAFE bool HasStack(const EntryRegisters& at) {
  constexpr uint64_t kNeeded = 32 << 10;
  const ThreadBlock* block = ExistingThreadBlock();
  return block == nullptr || at.sp < block->stack_low || at.sp - block->stack_low > kNeeded;
}

RECRASH_SIGNAL_SAFE void OnEntry(const EntryRegisters& at) {
  if (__atomic_load_n(&g_alive, __ATOMIC_ACQUIRE) == nullptr && !Begin()) return;
  if (__atomic_load_n(&g_alive->recording, __ATOMIC_ACQUIRE) == 0) return;
  Recorder& recorder = *g_recorder;
  // The coarse clock is a few nanoseconds: all that an entry costs which is not due.
  const uint64_t now = Time(CLOCK_MONOTONIC_COARSE);
  const bool is_due = recorder.budget.IsHalfFull(g_state.options.snapshot_cpu) || recorder.rates.IsDue(at.entry, now);
  const bool may_end_frames =
      recorder.kept.MayEnd(at.entry, ThreadPointer(), at.sp) && !snapshot::LeftOut("ended_frames");
  if (!is_due) ++recorder.log.header().figures.skipped_rate;
  if ((is_due || may_end_frames) && HasStack(at)) EnterAlone(recorder, at, now, is_due, may_end_frames);
}

}  // namespace

uint64_t SnapshotLogAddress() {
  const Alive* alive = __atomic_load_n(&g_alive, __ATOMIC_ACQUIRE);
  return alive != nullptr && alive->has_log != 0 ? g_recorder->log.header().start : 0;
}

}  // namespace recrash::client

extern "C" void recrash_on_entry(const EntryRegisters* at) {
  using namespace recrash::client;
  if (g_state.mode != Mode::kLive) return;
  OnEntry(*at);
}
