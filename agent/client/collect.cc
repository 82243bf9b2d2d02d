// Makes the report, in a process aside: starts the collector on the program and waits for it, or writes the raw report.
//
// Signal-safe: clone and execve with everything prepared, system calls otherwise. It uses clone with CLONE_VFORK and a
// stack for the child in place of vfork. AddressSanitizer intercepts vfork, clears the shadow of what it takes for this
// thread's stack, and crashes if that is an alternate one.
//
// All limits of time are parts of one, RECRASH_OPTIONS=timeout. While the collector holds the program by ptrace, the
// failing thread stands still and reads no clock; the process aside does, and ends the collector. Then the kernel lets
// the program go.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/base/signal_safe/text.h"
#include "agent/base/signal_safe/trusted_place.h"
#include "agent/base/signal_safe/undisturbed.h"
#include "agent/client/client.h"

namespace recrash::client {

Made g_made;

using record::SnapshotLogAddress;
using signal_safe::Call;
using signal_safe::CopyText;
using signal_safe::Nanoseconds;
using signal_safe::Pause;
using signal_safe::Text;
using signal_safe::Undisturbed;

const char* WhyNotToRun(const char* path) {
  struct stat file;
  if (stat(path, &file) != 0) return "is not there any more";
  if (const char* why = signal_safe::WhyNotTrusted(file)) return why;
  static char folder[1024];
  CopyText(folder, path);
  if (char* slash = strrchr(folder, '/'); slash != nullptr) *slash = 0;
  return signal_safe::WhyNotTrustedFolder(folder) == nullptr ? nullptr : "lies in a folder that others may change";
}

namespace {

// Where memory runs out, the collector has to go, and not the program. What the kernel notes for this process is not
// noted for the program, whose memory it shares: it was made with CLONE_VFORK.
RECRASH_SIGNAL_SAFE void BeFirstToRunOutOfMemory() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "1000", 4) < 0) errno = 0;
  close(file);
}

// What the child runs: a descriptor, or if that is negative, a path.
struct Executable {
  int file;
  const char* path;
  char* const* arguments;
};

// In the child, in this process's memory until execve: it must change nothing but its own state.
[[noreturn]] RECRASH_SIGNAL_SAFE int BecomeCollector(void* what) {
  const auto& executable = *static_cast<const Executable*>(what);
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  BeFirstToRunOutOfMemory();
  // An empty environment: LD_PRELOAD would watch the collector with this very client.
  char* const environment[] = {nullptr};
  const long error = executable.file >= 0
                         ? Call(SYS_execveat, executable.file, "", executable.arguments, environment, AT_EMPTY_PATH)
                         : Call(SYS_execve, executable.path, executable.arguments, environment);
  g_made.error = static_cast<int>(-error);
  for (;;) Call(SYS_exit_group, 127);
}

RECRASH_SIGNAL_SAFE pid_t Start(Executable& executable) {
  alignas(16) static char stack[16 << 10];
  g_made.error = 0;
  const long child = CloneOnto(stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, BecomeCollector, &executable);
  if (child < 0) g_made.error = static_cast<int>(-child);
  return static_cast<pid_t>(child);
}

// In memory, or else in the report folder.
RECRASH_SIGNAL_SAFE pid_t StartCollectorWithin(Executable& executable) {
  executable.file = CollectorInMemory();
  if (executable.file >= 0) {
    const pid_t child = Start(executable);
    close(executable.file);
    if (g_made.error == 0 || child < 0) return child;
    waitpid(child, &g_made.status, 0);
    executable.file = -1;
  }
  static char path[1024];
  if (!PutCollectorInto(g_made.folder, path)) return -1;
  executable.path = path;
  const pid_t child = Start(executable);
  unlink(path);
  return child;
}

RECRASH_SIGNAL_SAFE pid_t StartCollector() {
  static char pid[24], tid[24], record[24], abort_message[24], snapshots[24], marked[24], additions[24];
  static char folder[1024];
  CopyText(folder, g_made.folder);
  Text(pid).Decimal(static_cast<uint64_t>(g_record.pid));
  Text(tid).Decimal(static_cast<uint64_t>(g_record.tid));
  Text(record).Hex(reinterpret_cast<uint64_t>(&g_record));
  Text(abort_message).Hex(reinterpret_cast<uint64_t>(g_state.abort_message));
  Text(snapshots).Hex(SnapshotLogAddress(g_record.pid));
  Text(marked).Hex(HasMarkedValues() ? reinterpret_cast<uint64_t>(g_state.marked) : 0);
  Text(additions).Hex(reinterpret_cast<uint64_t>(g_state.additions));
  static char name[24];
  CopyText(name, "recrash-collector");
  char* arguments[] = {name,   pid,       tid,    record, folder, abort_message, snapshots, g_progress.profile,
                       marked, additions, nullptr};
  Executable executable = {-1, g_state.collector, arguments};
  return g_state.collector_within != 0 ? StartCollectorWithin(executable) : Start(executable);
}

RECRASH_SIGNAL_SAFE Outcome WaitFor(pid_t child) {
  int& status = g_made.status;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Nanoseconds(CLOCK_MONOTONIC) > g_made.collector_deadline) {
      kill(child, SIGKILL);
      // A process that waits in the kernel (for a disk that does not answer) does not end by that.
      for (int i = 0; i < 200 && waitpid(child, &status, WNOHANG) == 0; ++i) Pause(500000);
      return Outcome::kTimedOut;
    }
    Pause(200000);
  }
  if (g_record.report_path[0] != 0) return Outcome::kWritten;
  return g_made.error != 0 ? Outcome::kNotStarted : Outcome::kFailed;
}

RECRASH_SIGNAL_SAFE Outcome Collect() {
  if (Fails("collector_missing")) return Outcome::kMissing;
  if (g_state.collector_within == 0 && g_state.collector[0] == 0) {
    g_made.refused = g_state.collector_refused;
    return g_made.refused[0] != 0 ? Outcome::kRefused : Outcome::kMissing;
  }
  if (g_state.collector_within == 0 && WhyNotToRun(g_state.collector) != nullptr) {
    g_made.refused = g_state.collector;  // changed since start-up
    return Outcome::kRefused;
  }
  const pid_t child = Fails("collector_start") ? -1 : StartCollector();
  return child > 0 ? WaitFor(child) : Outcome::kNotStarted;
}

// Does the program end behind this report? It goes on if no signal came, though a child of vfork may have failed
// before, and it may go on if it handles failures itself.
RECRASH_SIGNAL_SAFE bool Ends() {
  return g_record.siginfo.si_signo != 0 && g_progress.failing != 0 && g_state.earlier_handlers == 0 &&
         !IsHandledByProgram(g_record.siginfo.si_signo);
}

// In the process aside.
RECRASH_SIGNAL_SAFE void MakeInAside() {
  g_made.folder = ReportFolder();
  g_made.outcome = Collect();
  if (g_made.outcome != Outcome::kWritten) {
    FindOtherThreads();
    if (Ends()) HoldOtherThreads();
    g_made.raw_failed = WriteRawReport(g_made.raw_path);
    ReleaseThreads();
  }
  g_made.is_done = true;
}

RECRASH_SIGNAL_SAFE uint64_t MakeReportHere(void*) {
  const Undisturbed undisturbed;
  const uint64_t now = Nanoseconds(CLOCK_MONOTONIC), allowed = g_state.options.timeout_seconds * 1000000000ull;
  memset(&g_made, 0, sizeof g_made);
  g_made.deadline = now + allowed;
  // What is left is for the raw report.
  g_made.collector_deadline = g_made.deadline - (allowed / 5 > 500000000 ? allowed / 5 : 500000000);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (Ends()) PrepareToHold();
  HideTerminateHook();
  g_made.aside = RunAside(MakeInAside, g_made.deadline);
  if (g_made.aside == AsideEnd::kNotStarted) RunHere(MakeInAside);
  ShowTerminateHook();
  prctl(PR_SET_PTRACER, 0, 0, 0, 0);
  if (g_progress.dumpable_before >= 0) prctl(PR_SET_DUMPABLE, g_progress.dumpable_before, 0, 0, 0);
  SayWhatWasMade();
  return 0;
}

}  // namespace

// Only one thread makes a report at a time. Its own stack may be an alternate one of 8 KiB, more than half of which the
// kernel has taken for the registers.
void MakeReport() {
  alignas(16) static char stack[64 << 10];
  uint64_t saved_sp;
  RecrashCallOnStack(reinterpret_cast<uint64_t>(stack + sizeof stack), MakeReportHere, nullptr, &saved_sp);
}

}  // namespace recrash::client
