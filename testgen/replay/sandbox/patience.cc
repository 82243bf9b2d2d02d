#include "testgen/replay/sandbox/patience.h"

#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/signal_safe/clock.h"

namespace recrash::replay {
namespace {

constexpr uint64_t kPage = 4096;

double Now() { return static_cast<double>(signal_safe::Nanoseconds(CLOCK_MONOTONIC)) * 1e-9; }

// Of the process alone, in bytes. No limit of the kernel is on this: sanitizers reserve terabytes of addresses.
uint64_t ResidentMemory(pid_t process) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/statm", process);
  FILE* file = fopen(path, "re");
  unsigned long pages = 0;
  if (!file) return 0;
  if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
  fclose(file);
  return pages * kPage;
}

// Processor time of the process alone, in seconds; 0 when it has ended.
double ProcessorTime(pid_t process) {
  clockid_t clock;
  return clock_getcpuclockid(process, &clock) == 0 ? static_cast<double>(signal_safe::Nanoseconds(clock)) * 1e-9 : 0;
}

// A line of /proc/PID/NAME; empty if it cannot be read.
template <size_t size>
void ReadLine(pid_t process, const char* name, char (&line)[size]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", process, name);
  line[0] = 0;
  FILE* file = fopen(path, "re");
  if (!file) return;
  line[fread(line, 1, size - 1, file)] = 0;
  fclose(file);
}

struct Activity {
  char state = 0;  // 'R': it runs, or waits for a processor to run on
  int threads = 0;
};

Activity ActivityOf(pid_t process) {
  Activity activity;
  char line[512];
  ReadLine(process, "stat", line);
  // The name stands in brackets and may hold some itself. The state stands behind the last one.
  if (const char* bracket = strrchr(line, ')'))
    sscanf(bracket + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d", &activity.state,
           &activity.threads);
  return activity;
}

bool WaitsForEver(pid_t process, const Activity& activity) {
  if (activity.state != 'S' || activity.threads != 1) return false;
  char line[256];
  ReadLine(process, "syscall", line);
  return IsEndlessWait(line);
}

constexpr int kMostBetweenLooks = 100;  // milliseconds
constexpr uint32_t kWaitingLooks = 5;   // who runs at fewer than one look in so many waits
// A busy machine gives a replay a part of a processor. After so many times its limit nobody waits any longer.
constexpr double kMostPatience = 10;
// A timer of the program might end a wait that no thread can. This is long for one, and short for a person.
constexpr double kMostStalled = 2;

// Tells a replay that computes without an end from one that waits: only the first says something about the program.
class Clock {
 public:
  Clock(pid_t process, const Limits& limits) : process_(process), limits_(limits), begin_(Now()), moved_(begin_) {}

  // Returns why the replay is given up; kNot: it is not.
  GivenUp Look() {
    const Activity activity = ActivityOf(process_);
    const double now = Now(), computed = ProcessorTime(process_);
    ++looks_;
    if (activity.state == 'R') ++running_;
    if (computed >= limits_.seconds) return GivenUp::kComputing;
    if (computed != computed_ || !limits_.may_not_stall || !WaitsForEver(process_, activity)) moved_ = now;
    computed_ = computed;
    const double so_far = now - begin_;
    const bool waits = so_far >= limits_.seconds && running_ * kWaitingLooks < looks_;
    return waits || now - moved_ >= kMostStalled || so_far >= limits_.seconds * kMostPatience ? GivenUp::kWaiting
                                                                                              : GivenUp::kNot;
  }

 private:
  pid_t process_;
  Limits limits_;
  double begin_, moved_, computed_ = 0;
  uint32_t looks_ = 0, running_ = 0;
};

}  // namespace

bool IsEndlessWait(const char* system_call) {
  unsigned long number, arguments[4];
  if (sscanf(system_call, "%lu 0x%lx 0x%lx 0x%lx 0x%lx", &number, &arguments[0], &arguments[1], &arguments[2],
             &arguments[3]) != 5)
    return false;  // "running", or it may not be read
  const auto is_without_limit = [](unsigned long milliseconds) { return static_cast<int>(milliseconds) < 0; };
  switch (number) {
    case SYS_futex: {
      const unsigned long operation = arguments[1] & FUTEX_CMD_MASK;
      const bool waits = operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET || operation == FUTEX_LOCK_PI;
      return waits && arguments[3] == 0;
    }
    case SYS_pause:
    case SYS_rt_sigsuspend:
      return true;
    case SYS_poll:
      return is_without_limit(arguments[2]);
    case SYS_ppoll:
      return arguments[2] == 0;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return is_without_limit(arguments[3]);
    default:
      return false;
  }
}

GivenUp WaitForEnd(pid_t child, const Limits& limits) {
  constexpr long kPidfdOpen = 434;
  pollfd end{static_cast<int>(syscall(kPidfdOpen, child, 0)), POLLIN, 0};
  if (end.fd < 0) return GivenUp::kNot;  // older than Linux 5.3: no limit
  Clock clock(child, limits);
  const int between =
      limits.seconds * 100 < kMostBetweenLooks ? static_cast<int>(limits.seconds * 100) + 1 : kMostBetweenLooks;
  GivenUp given_up = GivenUp::kNot;
  while (given_up == GivenUp::kNot && poll(&end, 1, between) <= 0) {
    given_up = clock.Look();
    if (limits.memory && ResidentMemory(child) > limits.memory) given_up = GivenUp::kMemory;
  }
  close(end.fd);
  return given_up;
}

}  // namespace recrash::replay
