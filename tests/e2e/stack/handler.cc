// A handler on an alternate stack that fails, in the midst of a function that was interrupted by a clock.
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "situation.h"

using situation::Add;
using situation::FailIf;
using situation::Hidden;
using situation::Use;

volatile sig_atomic_t g_alarms;

extern "C" void OnAlarm(int signal) {
  g_alarms = g_alarms + 1;
  if (g_alarms == 3) FailIf("handled");
  Add(Work(Hidden(signal + 6000), Hidden("in the handler")));
}

// Interrupted between any two of its instructions.
[[gnu::noinline]] int Busy(int number, const char* name) {
  Use(number, name);
  int spun = 0;
  while (g_alarms < 4) asm volatile("" : "+r"(spun));
  return Add(7);
}

[[gnu::noinline]] int Outer(int number, const char* name) {
  Use(number, name);
  const int result = Busy(Hidden(number + 1), Hidden("interrupted"));
  situation::g_total = 0;  // alarms that come late count for nothing
  return Add(result);
}

void UseAlternateStack() {
  constexpr size_t kSize = 128 << 10;
  stack_t stack = {};
  stack.ss_sp = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack.ss_size = kSize;
  sigaltstack(&stack, nullptr);
}

int main(int count, char** words) {
  situation::Begin(count, words);
  UseAlternateStack();
  struct sigaction action = {};
  action.sa_handler = OnAlarm;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval each = {{0, 2000}, {0, 2000}};
  setitimer(ITIMER_REAL, &each, nullptr);
  const int result = Outer(Hidden(1000), Hidden("outside"));
  const itimerval off = {};
  setitimer(ITIMER_REAL, &off, nullptr);
  situation::g_total = result;
  return situation::End();
}
