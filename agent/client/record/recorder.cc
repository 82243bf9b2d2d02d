// Defines recrash_on_entry, which a patched function calls first.
//
// It runs in the middle of the program, on its stack, in any thread, in signal handlers, in children of fork. So it
// waits for no lock, does not allocate, and calls nothing of libc that could be a cancellation point or set errno. Its
// memory is one mapping that children of fork do not get; a page that the kernel wipes at fork tells them so.
#include "agent/client/record/recorder.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/other_threads.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/base/signal_safe/undisturbed.h"
#include "agent/client/record/budget.h"
#include "agent/client/record/entry_copies.h"
#include "agent/client/record/open_files.h"
#include "agent/client/record/page_copies.h"
#include "agent/client/record/policy.h"
#include "agent/client/record/returned_frames.h"
#include "agent/client/record/sweep.h"
#include "agent/client/record/visits.h"
#include "agent/client/watch/patcher.h"
#include "agent/client/watch/trampoline.h"
#include "shadowstack/entry_hook.h"

namespace recrash::record {
namespace {

using signal_safe::Call;
using signal_safe::HasOtherThreads;
using signal_safe::Nanoseconds;
using watch::EntryCounter;
using watch::PatchedEntries;
using watch::SwitchPatchedEntries;

// Beside the log, in the same mapping.
struct Recorder {
  VersionLog log;
  WriteTracking tracking;
  Visits visits;
  Policy policy;
  KeptFrames kept;
  CpuBudget budget;
  Sweep sweep;
  PageCopies copies;
  EntryCopies entry_copies;  // where the kernel tracks no writes
  LogMapList mappings;
  LogFileList files;
  uint32_t busy;
  uint32_t map_list;  // of the last snapshot
  uint32_t file_list;
  uint64_t snapshot_cost;  // a recent mean
  bool unfinished;         // the last snapshot was broken off at the longest pause
};

// Lies in a page that a child of fork finds zeroed.
struct Alive {
  uint32_t has_log;
  uint32_t recording;
};

const Settings* g_settings;
Alive* g_alive;
Recorder* g_recorder;
LogHeader g_no_log;  // says why there is none
uint32_t g_beginning;

RECRASH_SIGNAL_SAFE void* Map(uint64_t size) {
  const long address =
      Call(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address > 0 ? reinterpret_cast<void*>(address) : nullptr;
}

RECRASH_SIGNAL_SAFE bool MapRecorder() {
  const uint64_t memory = uint64_t{g_settings->memory_mib} << 20;
  constexpr uint32_t kFewest = 1024;
  const auto functions = static_cast<uint32_t>(PatchedEntries()) + kFewest;
  const uint64_t log_size = VersionLog::SizeFor(memory, functions);
  const uint64_t size = signal_safe::PageUp(log_size + sizeof(Recorder));
  auto* alive = static_cast<Alive*>(Map(kPage));
  void* const mapping = Map(size);
  if (alive == nullptr || mapping == nullptr || Fails("log_memory")) return false;
  if (Call(SYS_madvise, mapping, size, MADV_DONTFORK) != 0) return false;
  if (!LeftOut("wipe_on_fork") && Call(SYS_madvise, alive, kPage, MADV_WIPEONFORK) != 0) return false;
  auto* recorder = reinterpret_cast<Recorder*>(static_cast<char*>(mapping) + log_size);
  recorder->log.Begin(mapping, memory, functions);
  LogHeader& log = recorder->log.header();
  log.size = size;
  log.pid = static_cast<int32_t>(Call(SYS_getpid));
  log.stop = recorder->tracking.Open(log.stop_error);
  if (log.stop != Stop::kNone) FallBackToCopies(log, g_settings->depth);
  memcpy(log.descriptors, recorder->tracking.descriptors(), sizeof log.descriptors);
  alive->has_log = 1;
  alive->recording = log.stop == Stop::kNone;
  g_recorder = recorder;
  __atomic_store_n(&g_alive, alive, __ATOMIC_RELEASE);
  return true;
}

RECRASH_SIGNAL_SAFE void SayNoLog(Stop why) {
  g_no_log.header_size = sizeof g_no_log;
  g_no_log.version = kLogVersion;
  g_no_log.start = reinterpret_cast<uint64_t>(&g_no_log);
  g_no_log.size = sizeof g_no_log;
  g_no_log.stop = why;
  for (int& descriptor : g_no_log.descriptors) descriptor = -1;
  __atomic_store_n(&g_no_log.magic, kLogMagic, __ATOMIC_RELEASE);
}

RECRASH_SIGNAL_SAFE bool MayRecord() { return g_settings->cpu_percent != 0 && g_settings->memory_mib != 0; }

// Called at the first entry. Returns false if this process cannot record, or another thread is about to begin.
RECRASH_SIGNAL_SAFE bool Begin() {
  if (__atomic_exchange_n(&g_beginning, 1, __ATOMIC_ACQ_REL) != 0) return false;
  if (MapRecorder()) return true;
  SayNoLog(Stop::kNoMemory);
  return false;
}

// Holds signals back during a snapshot: a handler that jumped out of it would leave the recorder busy for ever.
// Failures of the thread itself are let through: held back, they would end the program without a report.
class SignalsHeldBack {
 public:
  RECRASH_SIGNAL_SAFE SignalsHeldBack() {
    const uint64_t held = LeftOut("hold_signals") ? 0 : ~signal_safe::kFailureMask;
    Call(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before_, sizeof before_);
  }
  RECRASH_SIGNAL_SAFE ~SignalsHeldBack() { Call(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_); }

  // In a handler the signal itself is held back, unless it was installed with SA_NODEFER.
  bool none_before() const { return before_ == 0; }

 private:
  uint64_t before_ = 0;
};

RECRASH_SIGNAL_SAFE uint64_t ThreadPointer() {
  uint64_t pointer = 0;
  asm("movq %%fs:0, %0" : "=r"(pointer));  // the thread control block begins with its own address
  return pointer;
}

// Finds a place in `lists` for `list`: that of the last snapshot if nothing has changed, or a free one.
template <typename List, typename Element, size_t N>
RECRASH_SIGNAL_SAFE bool Share(const List& list, Element (List::*elements)[N], List* lists, uint32_t most,
                               uint32_t& last) {
  const uint64_t size = list.count * sizeof(Element);
  if (lists[last].count == list.count && memcmp(lists[last].*elements, list.*elements, size) == 0) return true;
  for (uint32_t i = 0; i < most; ++i) {
    if (lists[i].references != 0) continue;
    memcpy(lists[i].*elements, list.*elements, size);
    lists[i].count = list.count;
    last = i;
    return true;
  }
  return false;
}

RECRASH_SIGNAL_SAFE bool ShareLists(Recorder& recorder) {
  const VersionLog& log = recorder.log;
  return Share(recorder.mappings, &LogMapList::ranges, log.map_lists(), kMostMapLists, recorder.map_list) &&
         Share(recorder.files, &LogFileList::files, log.file_lists(), kMostFileLists, recorder.file_list);
}

// What has to be done at an entry.
struct Due {
  bool snapshot;
  bool ended_frames;
  bool sweep;
};

// One entry, and what is known of its function.
struct Entry {
  const EntryRegisters& at;
  StackAbove stack;
  LogFunction& function;
  Interval interval;
  bool nested;  // a call of the same function is live
  uint64_t now;
};

RECRASH_SIGNAL_SAFE uint64_t ReturnAddress(const EntryRegisters& at) {
  uint64_t word;
  memcpy(&word, reinterpret_cast<const void*>(at.sp), sizeof word);
  return word;
}

RECRASH_SIGNAL_SAFE StackAbove StackAt(uint64_t sp) {
  StackAbove stack = {ThreadPointer(), sp, 0};
  const watch::StackBounds bounds = watch::ThreadStackBounds();
  if (sp >= bounds.low && sp < bounds.high) stack.high = bounds.high;
  return stack;
}

RECRASH_SIGNAL_SAFE Outcome TakeSnapshot(Recorder& recorder, const Entry& entry, uint64_t deadline) {
  const EntryRegisters& at = entry.at;
  LogHeader& log = recorder.log.header();
  LogFrame frame = {};
  frame.thread = entry.stack.thread;
  recorder.log.DropReturned(entry.stack);
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
  ListOpenFiles(recorder.log, recorder.tracking.descriptors(), recorder.files);
  if (!ShareLists(recorder)) {
    recorder.log.GivePages(frame.copies);
    return Outcome::kNoRoom;
  }
  frame.map_list = recorder.map_list;
  frame.file_list = recorder.file_list;
  frame.brk_end = static_cast<uint64_t>(Call(SYS_brk, 0));
  frame.return_address = ReturnAddress(at);
  frame.function = static_cast<uint32_t>(&entry.function - recorder.log.functions());
  frame.unseen = entry.function.entries - entry.function.reached;
  frame.registers = at;
  if (g_settings->adaptive) recorder.log.KeepFew(frame);
  recorder.log.Add(frame);
  return Outcome::kTaken;
}

RECRASH_SIGNAL_SAFE void Count(LogFigures& figures, Outcome outcome) {
  if (outcome == Outcome::kTaken) ++figures.taken;
  if (outcome == Outcome::kPause) ++figures.skipped_pause;
  if (outcome == Outcome::kNoRoom) ++figures.skipped_memory;
}

// Each write to a page that this snapshot protects will cost a fault. Before the first snapshot pages were not
// protected.
RECRASH_SIGNAL_SAFE uint64_t FaultCost(const LogFigures& figures, uint64_t pages_before) {
  return figures.taken <= 1 ? 0 : (figures.pages_copied - pages_before) * kFaultCost;
}

RECRASH_SIGNAL_SAFE void Pay(Recorder& recorder, LogFunction& function, uint64_t cost, uint64_t faults) {
  LogFigures& figures = recorder.log.header().figures;
  figures.cpu_ns += cost;
  figures.faults_ns += faults;
  function.cpu_ns += cost;
  if (cost > figures.longest_pause_ns) figures.longest_pause_ns = cost;
  recorder.budget.Spend(cost + faults);
  const uint64_t mean = recorder.snapshot_cost;
  recorder.snapshot_cost = mean == 0 ? cost + faults : (15 * mean + cost + faults) / 16;
}

RECRASH_SIGNAL_SAFE Purse PurseOf(const Recorder& recorder, int64_t level) {
  return {level, recorder.budget.cap(), recorder.snapshot_cost, recorder.unfinished};
}

// If all of the CPU time may be taken, an overdrawn budget does not matter.
RECRASH_SIGNAL_SAFE bool MayPay(Recorder& recorder, Entry& entry) {
  const uint32_t percent = g_settings->cpu_percent;
  recorder.budget.Fill(Nanoseconds(CLOCK_PROCESS_CPUTIME_ID), percent);
  if (percent >= 100) return true;
  const CpuBudget& budget = recorder.budget;
  if (!g_settings->adaptive) return budget.level() > 0;
  return budget.level() >
         budget.cap() * NeededPermille(entry.function.inclusive_ns, PurseOf(recorder, budget.level())) / 1000;
}

RECRASH_SIGNAL_SAFE void Enter(Recorder& recorder, Entry& entry) {
  LogFigures& figures = recorder.log.header().figures;
  const uint32_t percent = g_settings->cpu_percent;
  const uint64_t begun = ThreadTime();
  if (!MayPay(recorder, entry)) {
    ++figures.skipped_budget;
    if (!g_settings->adaptive) Policy::Delay(entry.function, entry.now, ThreadTime() - begun, percent);
    return;
  }
  const uint64_t longest = uint64_t{g_settings->pause_ms} * 1000000;
  const uint64_t pages = figures.pages_copied;
  const Outcome outcome = TakeSnapshot(recorder, entry, begun + longest);
  Count(figures, outcome);
  recorder.unfinished = outcome == Outcome::kPause;
  entry.function.snapshots += outcome == Outcome::kTaken ? 1 : 0;
  if (outcome == Outcome::kStopped) {
    if (recorder.log.header().stop == Stop::kNone) recorder.log.header().stop = Stop::kDescriptorsGone;
    __atomic_store_n(&g_alive->recording, 0, __ATOMIC_RELEASE);
  }
  const uint64_t cost = ThreadTime() - begun;
  Pay(recorder, entry.function, cost, FaultCost(figures, pages));
  // A snapshot that was broken off goes on at the function's next entry.
  if (outcome != Outcome::kPause && !g_settings->adaptive) Policy::Delay(entry.function, entry.now, cost, percent);
}

// `alone`: as far as can be told, no signal handler has interrupted anything.
RECRASH_SIGNAL_SAFE void SweepFunctions(Recorder& recorder, uint64_t now, bool alone) {
  LogHeader& log = recorder.log.header();
  const uint64_t cost =
      recorder.sweep.Run(recorder.log, now, g_settings->cpu_percent, alone && !HasOtherThreads(), SwitchPatchedEntries);
  log.figures.entries_ns += cost;
  recorder.budget.SpendUpTo(cost);
  recorder.policy.Adjust(cost, recorder.budget.Fill(Nanoseconds(CLOCK_PROCESS_CPUTIME_ID), g_settings->cpu_percent));
}

// Another thread is busy and may move frames about. If a kept frame may have ended here, that is noted as unsure.
RECRASH_SIGNAL_SAFE void GoWithout(Recorder& recorder, bool may_end_frames) {
  ++recorder.log.header().figures.skipped_busy;
  if (may_end_frames) __atomic_store_n(&recorder.log.header().unsure, 1, __ATOMIC_RELEASE);
}

// Only one thread at a time takes a snapshot; a second one, or a handler, goes without.
RECRASH_SIGNAL_SAFE void EnterAlone(Recorder& recorder, Entry& entry, const Due& due) {
  const SignalsHeldBack held_back;
  if (__atomic_exchange_n(&recorder.busy, 1, __ATOMIC_ACQUIRE) != 0 && !LeftOut("busy"))
    return GoWithout(recorder, due.ended_frames);
  VersionLog& log = recorder.log;
  if (__atomic_exchange_n(&log.header().unsure, 0, __ATOMIC_ACQ_REL) != 0) log.DropAllFrames();
  if (due.ended_frames) log.DropReturned(entry.stack);
  if (due.sweep) SweepFunctions(recorder, entry.now, held_back.none_before());
  if (due.snapshot) Enter(recorder, entry);
  recorder.kept.Update(entry.at.entry, entry.stack.thread, log.frames(), log.header().frame_count);
  __atomic_store_n(&recorder.busy, 0, __ATOMIC_RELEASE);
}

// From now on the function's entries are only counted.
RECRASH_SIGNAL_SAFE void Silence(EntryCounter* counter) {
  if (counter != nullptr) *counter = INT32_MAX;
}

// Decides by the level that the budget had when it was last filled: reading the process clock costs more than all the
// rest of this.
RECRASH_SIGNAL_SAFE bool Wanted(Recorder& recorder, Entry& entry) {
  if (g_settings->cpu_percent >= 100) return true;
  const CpuBudget& budget = recorder.budget;
  if (!g_settings->adaptive) return budget.IsHalfFull() || Policy::IsDue(entry.function, entry.now);
  const Purse purse =
      PurseOf(recorder, budget.level() + recorder.sweep.IncomeSince(entry.now, g_settings->cpu_percent));
  return recorder.policy.WorthIt(entry.function, entry.interval, entry.nested, purse, entry.now);
}

RECRASH_SIGNAL_SAFE void Visit(Recorder& recorder, Entry& entry) {
  recorder.visits.LearnEnded(entry.stack, entry.now);
  entry.nested = recorder.visits.IsLive(entry.stack, &entry.function);
  if (!entry.nested) Policy::Learn(entry.function, entry.interval);
  recorder.visits.Begin(entry.stack, ReturnAddress(entry.at), &entry.function, entry.now);
}

// While the budget is half full, every entry of a profile's functions gets a snapshot.
RECRASH_SIGNAL_SAFE bool MaySkip(const Recorder& recorder) {
  if (g_settings->cpu_percent >= 100) return false;
  return g_settings->adaptive || !recorder.budget.IsHalfFull();
}

RECRASH_SIGNAL_SAFE void Record(Recorder& recorder, const EntryRegisters& at, EntryCounter* counter,
                                LogFunction& function) {
  const uint64_t now = Nanoseconds(CLOCK_MONOTONIC);
  function.counter = reinterpret_cast<uint64_t>(counter);
  const Interval interval = Policy::Reach(function, counter != nullptr ? *counter : function.skip - 1, now);
  Entry entry = {at, StackAt(at.sp), function, interval, false, now};
  Visit(recorder, entry);
  Due due = {};
  due.snapshot = Wanted(recorder, entry);
  due.ended_frames = recorder.kept.MayEnd(at.entry, entry.stack.thread, at.sp) && !LeftOut("ended_frames");
  recorder.sweep.Note(function, now);
  due.sweep = recorder.sweep.IsDue(now);
  if (!due.snapshot) ++recorder.log.header().figures.skipped_rate;
  if (due.snapshot || due.ended_frames || due.sweep) EnterAlone(recorder, entry, due);
  function.skip = MaySkip(recorder) ? Policy::Skipped(function, interval, now) : 0;
  if (counter != nullptr) *counter = function.skip;
}

RECRASH_SIGNAL_SAFE void OnEntry(const EntryRegisters& at, EntryCounter* counter) {
  if (!MayRecord()) return Silence(counter);
  if (__atomic_load_n(&g_alive, __ATOMIC_ACQUIRE) == nullptr && !Begin()) return;
  // Recording has stopped, or this is a child of fork, which does not have the recorder.
  if (__atomic_load_n(&g_alive->recording, __ATOMIC_ACQUIRE) == 0) return Silence(counter);
  LogFunction* const function = g_recorder->log.FunctionAt(at.entry);
  if (function == nullptr) return Silence(counter);
  Record(*g_recorder, at, counter, *function);
}

}  // namespace

void StartRecording(const Settings* settings) { g_settings = settings; }

uint64_t SnapshotLogAddress(int32_t process) {
  const Alive* alive = __atomic_load_n(&g_alive, __ATOMIC_ACQUIRE);
  if (alive != nullptr && alive->has_log != 0) return g_recorder->log.header().start;
  if (alive != nullptr) SayNoLog(Stop::kForked);
  if (__atomic_load_n(&g_no_log.magic, __ATOMIC_ACQUIRE) == 0) return 0;
  g_no_log.pid = process;
  return g_no_log.start;
}

}  // namespace recrash::record

extern "C" void recrash_on_entry(const EntryRegisters* at, int32_t* counter) {
  if (recrash::record::g_settings != nullptr) recrash::record::OnEntry(*at, counter);
}
