#include "testgen/replay/guest/run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>

#include "agent/base/signal_safe/clock.h"
#include "shadowstack/abi.h"
#include "testgen/replay/checks/checkers.h"
#include "testgen/replay/guest/inputs.h"
#include "testgen/replay/guest/memory.h"
#include "testgen/replay/guest/modules.h"
#include "testgen/replay/guest/observed.h"
#include "testgen/replay/guest/raw.h"
#include "testgen/replay/guest/restore.h"
#include "testgen/replay/guest/sandbox.h"
#include "testgen/replay/guest/world.h"
#include "testgen/replay/place/place_traps.h"
#include "testgen/replay/sandbox/patience.h"

namespace recrash::replay {
namespace {

void PutWord(const plan::Word& word, uint64_t entry_sp) {
  const auto location = static_cast<abi::Location>(word.location);
  if (location <= abi::Location::kR10) {
    memcpy(&world.run.call.state.integer[word.location], word.bytes, 8);
  } else if (word.location >= 16 && word.location < 24) {
    memcpy(world.run.call.state.vector[word.location - 16], word.bytes, 16);
  } else if (location == abi::Location::kStack && world.run.call.stack_count < 64) {
    PreparedCall::StackWord& slot = world.run.call.stack[world.run.call.stack_count++];
    slot.address = entry_sp + 8 + word.stack_offset;
    // An argument slot has eight bytes; its upper ones are the extension of a narrow integer.
    slot.size = word.size < 8 ? 8 : word.size;
    memcpy(slot.bytes, word.bytes, 16);
  }
}

uint64_t EntryOf(const plan::Frame& frame) {
  if (frame.rebuilt_module < 0) return ToLive(frame.entry);
  const LiveModule* module = ModuleAt(frame.rebuilt_module);
  return module ? module->live.start + frame.entry : 0;  // 0: not loaded, the call fails there
}

// The address in the parameter, when the record has the whole pointer.
bool FindPointer(const plan::Frame& frame, uint32_t parameter, uint64_t* address) {
  for (const plan::Word& word : WordsOf(frame)) {
    if (word.parameter != parameter || word.source_offset != 0 || word.size != sizeof *address) continue;
    memcpy(address, word.bytes, sizeof *address);
    return true;
  }
  return false;
}

bool AddStream(const plan::Frame& frame, uint32_t parameter) {
  for (const plan::Stream& stream : TableOf<plan::Stream>(frame.streams)) {
    if (stream.parameter != parameter || !CanRewind(stream.kind) || world.run.call.stream_count == kMostStreams)
      continue;
    uint64_t address = 0;
    if (!FindPointer(frame, parameter, &address)) continue;
    world.run.call.streams[world.run.call.stream_count++] = {address + stream.offset, stream.kind};
    return true;
  }
  return false;
}

// The first parameter of those to rewind that is no stream, or whose functions the subject does not have; 0: all are.
uint32_t AddStreams(const plan::Frame& frame, uint64_t parameters) {
  for (uint32_t parameter = 1; parameter <= kLastRewound; ++parameter) {
    if ((parameters >> parameter & 1) && !AddStream(frame, parameter)) return parameter;
  }
  return 0;
}

void Prepare(const plan::Frame& frame, const Start& start) {
  world.run.call = PreparedCall{};
  ReadControlWords(&world.run.call.state);
  if (world.plan->mxcsr) {
    world.run.call.state.mxcsr = world.plan->mxcsr & 0xffc0;  // without the sticky flags
    world.run.call.state.fcw = static_cast<uint16_t>(world.plan->fcw);
  }
  for (const plan::Word& word : WordsOf(frame)) PutWord(word, frame.entry_sp);
  world.run.call.state.sp = frame.entry_sp + 8;
  world.run.call.state.function = EntryOf(frame);
  world.run.call.inlined = frame.inlined != 0;
  if (start.from_entry) world.run.call.entry_state = EntryStateOf(frame);
  world.run.call.variables = frame.variables;
  if (start.depth > 0) {
    const uint64_t count = start.depth == 1 ? frame.shallow_fields : frame.fields.count;
    world.run.call.fields = {frame.fields.offset, count};
  }
}

[[noreturn]] void EndChild() { ExitNow(0); }

const plan::Array& FilesOf(const PreparedCall& call) {
  return call.entry_state ? call.entry_state->files : world.plan->files;
}

// Where a tracer is awaited the queue says so, until the tracer is there.
void UnshareBeforeHold() {
  if (world.run.inquiries) Raw(SYS_munmap, world.run.inquiries, sizeof *world.run.inquiries);
  if (!world.run.call.held) UnshareWithTool();
}

// Where memory gets short the kernel ends a replay before it ends anything else: files without a name, and what many
// processes have together, are bounded by nothing but this.
void BeFirstToEnd() {
  const long file = Raw(SYS_open, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  Raw(SYS_write, file, "1000", 4);
  Raw(SYS_close, file);
}

[[noreturn]] void RunChild() {
  Raw(SYS_setsid);  // without a terminal, and a group that its processes cannot leave: the sandbox refuses that
  DieWith(world.run.parent);
  EnterFolder();
  SetLimits();
  BeFirstToEnd();
  InstallHandlers(EndChild);
  SealMappings();
  ReopenFiles(FilesOf(world.run.call));
  RedirectReports(world.checkers);
  UnshareBeforeHold();
  EnterSandbox();
  RestoreAndCall(world.run.call);
  world.run.observed->ending = Ending::kReturned;
  EndChild();
}

constexpr size_t kStackSize = 256 << 10;

// The child is made by the bare system call: fork() would run the program's pthread_atfork handlers.
long StartChild() {
  int32_t here = 0;
  int32_t* number = world.run.call.held ? &world.run.call.held->process : &here;
  const Namespaces& namespaces = world.run.namespaces;
  world.run.parent = HaveNumbers(namespaces) ? 0 : Raw(SYS_getpid);  // as the child knows it
  if (namespaces.kinds) return StartInside(namespaces, world.run.stack_end, RunChild, number);
  const long child = Raw(SYS_clone, SIGCHLD | CLONE_PARENT_SETTID, nullptr, number);
  if (child == 0) RunChild();
  return child;
}

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

void RunInChild() {
  fflush(nullptr);
  const long child = StartChild();
  if (child < 0) return;
  const double seconds = world.run.call.seconds > 0 ? world.run.call.seconds : world.plan->seconds_per_frame;
  const Limits limits = {seconds, world.plan->memory_limit, world.run.call.held == nullptr};
  const GivenUp given_up = WaitForEnd(static_cast<pid_t>(child), limits);
  if (given_up != GivenUp::kNot) kill(static_cast<pid_t>(child), SIGKILL);
  int status = 0;
  rusage usage = {};
  while (wait4(static_cast<pid_t>(child), &status, 0, &usage) < 0 && errno == EINTR) {
  }
  world.run.computed = SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
  kill(-static_cast<pid_t>(child), SIGKILL);  // whatever it has started
  if (world.run.observed->ending != Ending::kNone) return;
  if (given_up == GivenUp::kComputing) {
    world.run.observed->ending = Ending::kTimedOut;
  } else if (given_up == GivenUp::kWaiting) {
    world.run.observed->ending = Ending::kWaited;
  } else if (WIFEXITED(status)) {
    world.run.observed->ending = Ending::kExited;
    world.run.observed->status = WEXITSTATUS(status);
  } else {
    world.run.observed->ending = Ending::kKilled;
    world.run.observed->status = WTERMSIG(status);
  }
}

void LeaveCall() { recrash_leave_call(); }

// In place, for a debugger: the outcome is written down as in a child, then the process's own memory comes back, so
// that GoogleTest can report and go on.
void RunInPlace() {
  fflush(nullptr);
  const int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EnterFolder();
  InstallHandlers(LeaveCall);
  ReopenFiles(FilesOf(world.run.call));
  RedirectReports(world.checkers);
  EnterSandbox();
  SaveLive();
  RestoreAndCall(world.run.call);
  if (world.run.observed->ending == Ending::kNone) world.run.observed->ending = Ending::kReturned;
  PutLiveBack();
  if (world.run.call.entry_state) TakeEntryStateAway(*world.run.call.entry_state);
  RefreshMemory();
  if (directory >= 0) {
    if (fchdir(directory) != 0) world.run.observed->status = errno;
    close(directory);
  }
}

void MapInquiries() {
  if (world.plan->inquiries_fd < 0) return;
  void* shared =
      mmap(nullptr, sizeof(plan::Inquiries), PROT_READ | PROT_WRITE, MAP_SHARED, world.plan->inquiries_fd, 0);
  if (shared != MAP_FAILED) world.run.inquiries = static_cast<plan::Inquiries*>(shared);
  close(world.plan->inquiries_fd);
}

// Opening the debug information of a large program takes a second or two, on a busy machine more.
constexpr double kLongestAnswer = 60;

}  // namespace

namespace {

// Of module kNobody where the dead process did not have the code.
plan::CodeAddress CodeAt(uint64_t live, bool exact) {
  const LiveModule* module = FindLive(live);
  if (!module || !module->recorded) return {plan::kNobody, 0, 0};
  const auto index = static_cast<uint32_t>(module->recorded - TableOf<plan::Module>(world.plan->modules).first);
  return {index, exact ? 1u : 0u, live - module->live.start};
}

}  // namespace

bool Ask(uint32_t* state, double seconds) {
  constexpr timespec kBetweenLooks{1, 0};
  __atomic_store_n(state, plan::kAsked, __ATOMIC_RELEASE);
  __atomic_fetch_add(&world.run.inquiries->asked, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &world.run.inquiries->asked, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  for (const double until = Now() + seconds; Now() < until;) {
    if (__atomic_load_n(state, __ATOMIC_ACQUIRE) == plan::kAnswered) return true;
    syscall(SYS_futex, state, FUTEX_WAIT, plan::kAsked, &kBetweenLooks, nullptr, 0);
  }
  return false;
}

Answer AskTool(const Observed& observed, const plan::Frame& frame) {
  Answer answer{plan::Same::kNotKnown, "", ""};
  if (!world.run.inquiries) return answer;
  plan::Question& question = world.run.inquiries->questions[world.run.worker];
  question.count = 0;
  for (uint32_t i = 0; i < observed.stack_size && i < plan::kMostAsked; ++i)
    question.stack[question.count++] = CodeAt(observed.stack[i], i == 0 && observed.ending == Ending::kSignal);
  question.called = CodeAt(world.run.call.state.function, true);
  question.thrower = observed.terminated && observed.exception_type[0] ? frame.index : plan::kNobody;
  if (!Ask(&question.state, kLongestAnswer)) return answer;
  answer.same = question.same;
  CopyText(answer.where, sizeof answer.where, question.where);
  CopyText(answer.caught, sizeof answer.caught, question.caught);
  return answer;
}

void UnshareWithTool() {
  if (world.run.queue) Raw(SYS_munmap, world.run.queue, world.run.queue_size);
}

double Now() { return static_cast<double>(signal_safe::Nanoseconds(CLOCK_MONOTONIC)) * 1e-9; }

void DieWith(long parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (Raw(SYS_getppid) != parent) ExitNow(1);
}

const plan::Frame* FindFrame(uint32_t index) {
  for (const plan::Frame& frame : TableOf<plan::Frame>(world.plan->frames)) {
    if (frame.index == index) return &frame;
  }
  return nullptr;
}

void PrepareFrames() {
  world.run.all_observed = world.run.observed = static_cast<Observed*>(mmap(
      nullptr, kMostWorkers * sizeof *world.run.observed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (world.run.observed == MAP_FAILED) Problem("cannot map shared memory: %s", strerror(errno));
  MapInquiries();
  void* stack = mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) Problem("cannot map a stack: %s", strerror(errno));
  world.run.stack_end = static_cast<char*>(stack) + kStackSize;
  world.null_fd = fcntl(open("/dev/null", O_RDWR), F_DUPFD, 500);
  for (const plan::Frame& frame : TableOf<plan::Frame>(world.plan->frames)) {
    for (plan::Word& word : WordsOf(frame)) {
      if (word.size == 8 || word.size == 16) TranslateRange(Number(word.bytes), word.size);
    }
    for (const plan::Patch& variable : TableOf<plan::Patch>(frame.variables))
      TranslateRange(Number(world.bytes + variable.offset), variable.size);
    for (const plan::Patch& field : TableOf<plan::Patch>(frame.fields)) {
      // Only whole aligned words of the object can be pointers.
      const uint64_t skip = -field.address & 7;
      if (field.size > skip) TranslateRange(Number(world.bytes + field.offset) + skip, field.size - skip);
    }
  }
}

namespace {

Observed RunOnce(const Start& start) {
  *world.run.observed = Observed{};
  PrepareFolder(start.sealed);
  MakeAbsent();
  PrepareReport(&world.checkers);
  if (Has(plan::kInProcess)) {
    RunInPlace();
  } else {
    RunInChild();
  }
  ReadReport(world.checkers, Has(plan::kShowOutput), &world.run.observed->finding);
  return *world.run.observed;
}

// Only another build may come to a good end where the recorded one failed. AddressSanitizer has a heap of its own.
bool IsToBeChecked(const Observed& observed) {
  const bool ended_well = observed.ending == Ending::kReturned || observed.ending == Ending::kExited;
  const bool proves =
      ended_well && !observed.absent[0] && !IsAny(observed.finding) && !observed.overrun && !observed.absent_memory;
  return proves && Has(plan::kRebuilt) && !Has(plan::kInProcess) && !world.touched && !world.run.call.held &&
         !world.checkers.has_finding && AskForPlace(world.run.inquiries, &world.place);
}

// Replays once more, and looks. A replay that ends otherwise, since its heap is another one, tells only of bad
// accesses.
PlaceSeen CheckPlace(const Observed& observed, const Start& start) {
  world.run.checks_place = true;
  const Observed checked = RunOnce(start);
  world.run.checks_place = false;
  PlaceSeen seen = checked.place;
  const bool ends_alike = checked.ending == observed.ending && checked.status == observed.status;
  seen.known = seen.known && (ends_alike || seen.bad.kind != BadAccess::kNone);
  return seen;
}

}  // namespace

Verdict RunFrame(const plan::Frame& frame, const Start& start, char* text, size_t size, plan::Slot* slot) {
  if (*TextOf(frame.problem)) {
    snprintf(text, size, "%s", TextOf(frame.problem));
    return Verdict::kCannotReplay;
  }
  Prepare(frame, start);
  if (slot) {
    world.run.call.held = slot->hold ? slot : nullptr;
    world.run.call.seconds = slot->limit;
    TakeExperiment(*slot, &world.run.call);
  }
  if (const uint32_t parameter = AddStreams(frame, start.rewind)) {
    snprintf(text, size, "parameter %u is no stream that can be rewound", parameter);
    return Verdict::kCannotReplay;
  }
  Observed observed = RunOnce(start);
  // What the replay wrote may have no end.
  for (char* end : {std::end(observed.abort_message), std::end(observed.exception_type),
                    std::end(observed.exception_bases), std::end(observed.exception_what), std::end(observed.reason),
                    std::end(observed.absent), std::end(observed.not_found), std::end(observed.not_given),
                    std::end(observed.finding.checker), std::end(observed.finding.text)})
    end[-1] = 0;
  if (*observed.not_given) {
    snprintf(text, size, "a value of the test cannot be set: %s", observed.not_given);
    return Verdict::kCannotReplay;
  }
  observed.absent_memory = FindTouchedAbsent(observed.signal == SIGSEGV ? observed.address : 0);
  if (IsToBeChecked(observed)) observed.place = CheckPlace(observed, start);
  return Judge(observed, frame, text, size);
}

void UseObserved(uint32_t worker) {
  world.run.worker = worker;
  world.run.observed = world.run.all_observed + worker;
}

}  // namespace recrash::replay
