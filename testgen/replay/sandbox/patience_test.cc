#include "testgen/replay/sandbox/patience.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace recrash::replay {
namespace {

double Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void LockTwice() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
}

void PollForEver() { poll(nullptr, 0, -1); }
void Pause() { pause(); }
void SleepThreeSeconds() { sleep(3); }
void Compute() {
  for (volatile int i = 0;; i = i + 1) {
  }
}

void* WaitAndLeave(void*) {
  sleep(3);
  _exit(0);
}

// Another thread ends what the first one waits for.
void JoinThread() {
  pthread_t thread;
  pthread_create(&thread, nullptr, WaitAndLeave, nullptr);
  pthread_join(thread, nullptr);
}

class Patience : public testing::Test {
 protected:
  GivenUp With(void (*run)(), Limits limits) {
    const pid_t child = fork();
    if (child == 0) {
      run();
      _exit(0);
    }
    const double before = Now();
    const GivenUp given_up = WaitForEnd(child, limits);
    took_ = Now() - before;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    return given_up;
  }

  double took_ = 0;
};

constexpr Limits kLong = {.seconds = 60, .memory = 0, .may_not_stall = true};

// Long before its time is over: three tries of a frame would take half a minute, in which nothing happens.
TEST_F(Patience, EndsSoonWhereNothingCanEndTheWait) {
  for (void (*wait)() : {LockTwice, PollForEver, Pause}) {
    EXPECT_EQ(With(wait, kLong), GivenUp::kWaiting);
    EXPECT_LT(took_, 40);
  }
}

TEST_F(Patience, LastsWhereTimeOrAThreadCanEndTheWait) {
  EXPECT_EQ(With(SleepThreeSeconds, kLong), GivenUp::kNot);
  EXPECT_EQ(With(JoinThread, kLong), GivenUp::kNot);
}

// A tracer stops it and lets it go on.
TEST_F(Patience, LastsWhereSomebodyElseCan) {
  EXPECT_EQ(With(Pause, {.seconds = 4, .memory = 0, .may_not_stall = false}), GivenUp::kWaiting);
  EXPECT_GE(took_, 4);
}

TEST_F(Patience, HasALimitForWhatComputes) {
  EXPECT_EQ(With(Compute, {.seconds = 0.3, .memory = 0, .may_not_stall = true}), GivenUp::kComputing);
}

// number, six arguments, stack pointer, pc: FUTEX_WAIT | FUTEX_PRIVATE_FLAG with and without a timeout.
TEST(EndlessWait, IsOneWithoutALimit) {
  EXPECT_TRUE(IsEndlessWait("202 0x7ffe0 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f00\n"));
  EXPECT_FALSE(IsEndlessWait("202 0x7ffe0 0x80 0x2 0x7ffc0 0x0 0x0 0x7ffd 0x7f00\n"));
  EXPECT_FALSE(IsEndlessWait("202 0x7ffe0 0x81 0x2 0x0 0x0 0x0 0x7ffd 0x7f00\n"));  // FUTEX_WAKE
  EXPECT_TRUE(IsEndlessWait("7 0x7ffe0 0x1 0xffffffff 0x0 0x0 0x0 0x7ffd 0x7f00\n"));
  EXPECT_FALSE(IsEndlessWait("7 0x7ffe0 0x1 0x3e8 0x0 0x0 0x0 0x7ffd 0x7f00\n"));
  EXPECT_FALSE(IsEndlessWait("230 0x1 0x0 0x7ffe0 0x0 0x0 0x0 0x7ffd 0x7f00\n"));  // clock_nanosleep
  EXPECT_FALSE(IsEndlessWait("running\n"));
  EXPECT_FALSE(IsEndlessWait(""));
}

}  // namespace
}  // namespace recrash::replay
