// Starts the collector on this process and waits for it.
//
// Signal-safe: clone and execve with everything prepared, system calls otherwise. It uses clone with CLONE_VFORK and a
// stack for the child instead of vfork. AddressSanitizer intercepts vfork, clears the shadow of what it takes for this
// thread's stack, and crashes if that is an alternate one.
//
// Two clocks keep the time limit. While the collector holds this process by ptrace, the waiting thread stands still; so
// the collector has an alarm, set before execve and inherited. When it rings, the collector dies and the kernel lets
// the process go. A collector that never attaches is ended by the waiting thread's clock.
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/printable.h"
#include "agent/base/signal_safe/text.h"
#include "agent/base/signal_safe/trusted_place.h"
#include "agent/base/signal_safe/undisturbed.h"
#include "agent/client/client.h"

namespace recrash::client {

using record::SnapshotLogAddress;
using signal_safe::BaseName;
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

enum class Outcome { kWritten, kMissing, kRefused, kFailed, kTimedOut };

// Runs in the child, in this process's memory until execve: it must change nothing but its own signal state and clock.
RECRASH_SIGNAL_SAFE int BecomeCollector(void* arguments) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarm_only, nullptr);
  alarm(g_state.options.timeout_seconds);
  // An empty environment: LD_PRELOAD would watch the collector with this very client.
  char* const environment[] = {nullptr};
  execve(g_state.collector, static_cast<char* const*>(arguments), environment);
  _exit(127);
}

RECRASH_SIGNAL_SAFE pid_t StartCollector() {
  static char pid[24], tid[24], record[24], abort_message[24], snapshots[24], marked[24];
  Text(pid).Decimal(static_cast<uint64_t>(g_record.pid));
  Text(tid).Decimal(static_cast<uint64_t>(g_record.tid));
  Text(record).Hex(reinterpret_cast<uint64_t>(&g_record));
  Text(abort_message).Hex(reinterpret_cast<uint64_t>(g_state.abort_message));
  Text(snapshots).Hex(SnapshotLogAddress());
  Text(marked).Hex(HasMarkedValues() ? reinterpret_cast<uint64_t>(g_state.marked) : 0);
  char* arguments[] = {g_state.collector,  pid,    tid,    record, g_state.directory, abort_message, snapshots,
                       g_progress.profile, marked, nullptr};
  alignas(16) static char stack[16 << 10];
  return clone(BecomeCollector, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, arguments);
}

// Another thread of the program may reap the collector first, by waiting for any child. Then only the collector's
// answer in the record tells.
RECRASH_SIGNAL_SAFE Outcome WaitFor(pid_t child, int& status) {
  const uint64_t limit = Nanoseconds(CLOCK_MONOTONIC) + g_state.options.timeout_seconds * 1000000000ull;
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno == ECHILD)) break;
    if (Nanoseconds(CLOCK_MONOTONIC) > limit) {
      kill(child, SIGKILL);
      // A process that waits in the kernel (for a disk that does not answer) does not end by that.
      for (int i = 0; i < 200 && waitpid(child, &status, WNOHANG) == 0; ++i) Pause(500000);
      return Outcome::kTimedOut;
    }
    Pause(500000);
  }
  if (g_record.report_path[0] != 0) return Outcome::kWritten;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return Outcome::kTimedOut;
  return Outcome::kFailed;
}

RECRASH_SIGNAL_SAFE Outcome Collect(int& status) {
  if (g_state.collector[0] != 0 && WhyNotToRun(g_state.collector) != nullptr) {
    // Changed since start-up.
    CopyText(g_state.collector_refused, g_state.collector);
    g_state.collector[0] = 0;
  }
  if (g_state.collector[0] == 0) return g_state.collector_refused[0] != 0 ? Outcome::kRefused : Outcome::kMissing;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  HideTerminateHook();
  const pid_t child = StartCollector();
  const Outcome outcome = child > 0 ? WaitFor(child, status) : Outcome::kFailed;
  ShowTerminateHook();
  prctl(PR_SET_PTRACER, 0, 0, 0, 0);
  return outcome;
}

RECRASH_SIGNAL_SAFE const char* SignalName(int signal) {
  for (const signal_safe::FailureSignal& failure : signal_safe::kFailureSignals)
    if (failure.number == signal) return failure.name;
  return "signal";
}

RECRASH_SIGNAL_SAFE void SayException(Text& line, const abi::ThrowRecord& thrown) {
  line << "uncaught exception ";
  PutTypeName(line, thrown.type);
  if (thrown.what[0] != 0) line << ": " << thrown.what;
}

RECRASH_SIGNAL_SAFE void SayWhatHappened(Text& line) {
  line << "recrash: ";
  switch (g_record.kind) {
    case abi::FailureKind::kReported:
      line << "reported \"" << g_record.reason << "\"";
      break;
    case abi::FailureKind::kException:
      SayException(line, *reinterpret_cast<const abi::ThrowRecord*>(g_record.throw_record));
      break;
    case abi::FailureKind::kSignal:
      line << SignalName(g_record.siginfo.si_signo);
      if (g_record.siginfo.si_code > 0 && g_record.siginfo.si_signo != SIGABRT && g_record.siginfo.si_signo != SIGTRAP)
        line << " at address 0x", line.Hex(reinterpret_cast<uint64_t>(g_record.siginfo.si_addr));
      break;
  }
  line << " in " << ProgramName() << " (process ";
  line.Decimal(static_cast<uint64_t>(g_record.pid)) << "): ";
}

RECRASH_SIGNAL_SAFE void SayWhyNot(Text& line, Outcome outcome, int status) {
  switch (outcome) {
    case Outcome::kMissing:
      line << "no recrash-collector was found (set RECRASH_COLLECTOR); ";
      break;
    case Outcome::kRefused: {
      const char* why = WhyNotToRun(g_state.collector_refused);
      line << g_state.collector_refused << " is not run: it " << (why != nullptr ? why : "was not safe to run before")
           << "; ";
      break;
    }
    case Outcome::kTimedOut:
      line << "the collector took longer than ";
      line.Decimal(g_state.options.timeout_seconds) << " s (RECRASH_OPTIONS=timeout=N); ";
      break;
    default:
      line << g_state.collector << (WIFSIGNALED(status) ? " was killed by signal " : " ended with status ");
      line.Decimal(static_cast<uint64_t>(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status))) << "; ";
  }
}

RECRASH_SIGNAL_SAFE bool StartsWith(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

// GoogleTest redirects stderr of a death test to a file of such a name, and tests may compare all of it ("boom$",
// Eq("boom\n")): recrash's line would make them fail. The report is written as always.
RECRASH_SIGNAL_SAFE bool IsTestedText(int descriptor) {
  char link[64];
  (Text(link) << "/proc/self/fd/").Decimal(static_cast<uint64_t>(descriptor));
  char target[1024];
  const ssize_t length = readlink(link, target, sizeof target - 1);
  if (length <= 0) return false;
  target[length] = 0;
  return StartsWith(BaseName(target), "gtest_captured_stream.") || StartsWith(BaseName(target), "captured_stream.");
}

}  // namespace

void PrintLine(const Text& line) {
  static char shown[8192];
  CopyPrintable(shown, sizeof shown - 1, line.c_str(), line.size());
  const size_t size = strlen(shown);
  shown[size] = '\n';
  if (write(STDERR_FILENO, shown, size + 1) < 0) return;
}

namespace {

// Does not wait for long: nobody may read the pipe any more, or the terminal may be stopped.
RECRASH_SIGNAL_SAFE void Say(const Text& line) {
  if (g_state.options.quiet != 0 || IsTestedText(STDERR_FILENO)) return;
  pollfd out = {STDERR_FILENO, POLLOUT, 0};
  if (poll(&out, 1, 1000) == 1) PrintLine(line);
}

}  // namespace

void MakeReport() {
  const Undisturbed undisturbed;
  static char buffer[4096];
  Text line(buffer);
  SayWhatHappened(line);
  int status = 0;
  const Outcome outcome = Collect(status);
  if (outcome == Outcome::kWritten) {
    line << "report in " << g_record.report_path;
  } else {
    SayWhyNot(line, outcome, status);
    static char path[1024];
    if (const char* why = WriteRawReport(path); why == nullptr)
      line << "raw report in " << path;
    else
      line << "nor could a raw report be written to " << path << ": it " << why;
  }
  if (g_progress.dumpable_before >= 0) prctl(PR_SET_DUMPABLE, g_progress.dumpable_before, 0, 0, 0);
  Say(line);
}

}  // namespace recrash::client
