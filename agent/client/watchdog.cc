// RECRASH_OPTIONS=watchdog=SECONDS: a program that has said RECRASH_ALIVE() once has to go on saying it. If it does not
// for so long, a report is made of where its main thread is, and the program goes on.
//
// A timer of the kernel interrupts the main thread, once in that time at most, by a signal that no program uses. System
// calls that the kernel does not restart after a signal return EINTR then. A child of fork has no such timer.
#include <errno.h>
#include <linux/time_types.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/register_order.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/client/client.h"

namespace recrash::client {

using signal_safe::Call;
using signal_safe::Nanoseconds;
using signal_safe::Text;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

uint64_t g_alive;     // when it was said last; 0: never
uint64_t g_reported;  // the value of g_alive that a report was made of
int32_t g_timer;      // the kernel's number

RECRASH_SIGNAL_SAFE uint64_t Allowed() { return g_state.options.watchdog_seconds * kSecond; }

RECRASH_SIGNAL_SAFE void RingAfter(uint64_t nanoseconds) {
  const __kernel_itimerspec once = {
      {}, {static_cast<int64_t>(nanoseconds / kSecond), static_cast<int64_t>(nanoseconds % kSecond)}};
  Call(SYS_timer_settime, g_timer, 0, &once, nullptr);
}

RECRASH_SIGNAL_SAFE void ReportHang(const ucontext_t& interrupted) {
  char reason[64];
  (Text(reason) << "hang: no RECRASH_ALIVE() for ").Decimal(g_state.options.watchdog_seconds) << " s";
  uint64_t registers[abi::kRegisterCount];
  for (int i = 0; i < abi::kRegisterCount; ++i)
    registers[i] = static_cast<uint64_t>(interrupted.uc_mcontext.gregs[kContextRegisters[i]]);
  ReportAndGoOn(abi::FailureKind::kReported, reason, nullptr, registers);
}

RECRASH_SIGNAL_SAFE void OnTimer(int number, siginfo_t* info, void* context) {
  if (info->si_code != SI_TIMER) return g_state.signal_handler(number, info, context);
  const int saved_errno = errno;
  const uint64_t alive = __atomic_load_n(&g_alive, __ATOMIC_ACQUIRE), now = Nanoseconds(CLOCK_MONOTONIC);
  if (alive == 0 || now - alive < Allowed()) {
    RingAfter(alive == 0 ? Allowed() : alive + Allowed() - now);
  } else {
    if (alive != g_reported) ReportHang(*static_cast<const ucontext_t*>(context));
    g_reported = alive;  // once, until it is alive again
    RingAfter(Allowed());
  }
  errno = saved_errno;
}

}  // namespace

void StartWatchdog() {
  if (g_state.options.watchdog_seconds == 0) return;
  struct sigaction action = ClientAction();
  action.sa_sigaction = OnTimer;
  action.sa_flags |= static_cast<int>(SA_RESTART);
  RealSigaction(kWatchdogSignal, &action, nullptr);
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kWatchdogSignal;
  event._sigev_un._tid = getpid();
  if (Call(SYS_timer_create, CLOCK_MONOTONIC, &event, &g_timer) == 0) RingAfter(Allowed());
}

}  // namespace recrash::client

extern "C" __attribute__((visibility("default"))) void __recrash_alive(void) {
  using namespace recrash::client;
  if (g_state.other != nullptr) return g_state.other->alive();
  if (g_state.options.watchdog_seconds == 0) return;
  __atomic_store_n(&g_alive, recrash::signal_safe::Nanoseconds(CLOCK_MONOTONIC), __ATOMIC_RELEASE);
}
