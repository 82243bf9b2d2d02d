// The line on stderr about a failure and its report.
//
// Signal-safe.
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/printable.h"
#include "agent/base/signal_safe/text.h"
#include "agent/base/signal_safe/undisturbed.h"
#include "agent/client/client.h"

namespace recrash::client {

using signal_safe::BaseName;
using signal_safe::Nanoseconds;
using signal_safe::Text;

namespace {

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

RECRASH_SIGNAL_SAFE const char* CollectorName() {
  return g_state.collector_within != 0 ? "the program's own collector" : g_state.collector;
}

}  // namespace

void SayWhyNoCollector(Text& line) {
  const int status = g_made.status;
  switch (g_made.outcome) {
    case Outcome::kMissing:
      line << "no recrash-collector was found (set RECRASH_COLLECTOR)";
      break;
    case Outcome::kRefused: {
      const char* why = WhyNotToRun(g_made.refused);
      line << g_made.refused << " is not run: it " << (why != nullptr ? why : "was not safe to run before");
      break;
    }
    case Outcome::kTimedOut:
      line << "the collector did not end in time (RECRASH_OPTIONS=timeout=";
      line.Decimal(g_state.options.timeout_seconds) << ")";
      break;
    case Outcome::kNotStarted:
      line << CollectorName() << " could not be started (errno ";
      line.Decimal(static_cast<uint64_t>(g_made.error)) << ")";
      break;
    default:
      line << CollectorName() << (WIFSIGNALED(status) ? " was killed by signal " : " ended with status ");
      line.Decimal(static_cast<uint64_t>(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
  }
}

namespace {

RECRASH_SIGNAL_SAFE void SayReport(Text& line) {
  if (!g_made.is_done) {
    line << "no report: the process that makes it ";
    if (g_made.aside != AsideEnd::kTimedOut) {
      line << "failed itself";
      return;
    }
    line << "did not end in time (RECRASH_OPTIONS=timeout=";
    line.Decimal(g_state.options.timeout_seconds) << ")";
    return;
  }
  if (g_made.outcome == Outcome::kWritten) {
    line << "report in " << g_record.report_path;
    return;
  }
  SayWhyNoCollector(line);
  line << "; ";
  if (g_made.raw_failed == nullptr)
    line << "raw report in " << g_made.raw_path;
  else
    line << "nor could a raw report be written to " << g_made.raw_path << ": it " << g_made.raw_failed;
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
RECRASH_SIGNAL_SAFE bool MayPrint() {
  if (g_state.options.quiet != 0 || IsTestedText(STDERR_FILENO)) return false;
  const uint64_t now = Nanoseconds(CLOCK_MONOTONIC);
  const uint64_t left = now < g_made.deadline ? (g_made.deadline - now) / 1000000 : 0;
  pollfd out = {STDERR_FILENO, POLLOUT, 0};
  return poll(&out, 1, left < 1000 ? static_cast<int>(left) : 1000) == 1;
}

}  // namespace

void SayWhatWasMade() {
  if (!MayPrint()) return;
  static char buffer[4096];
  Text line(buffer);
  SayWhatHappened(line);
  SayReport(line);
  PrintLine(line);
}

}  // namespace recrash::client
