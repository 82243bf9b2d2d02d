// Holds the program's other threads while it writes its own report: a collector holds them by ptrace, which may be
// forbidden. Each gets a signal; its handler notes where the kernel has put the registers, and waits.
//
// The signal is the one by which glibc tells all threads of a new user: a program cannot block it. So this is done only
// in a program that ends.
//
// Signal-safe.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "agent/base/signal_safe/clock.h"
#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/system_call.h"
#include "agent/client/client.h"

namespace recrash::client {

using signal_safe::Call;
using signal_safe::Nanoseconds;
using signal_safe::Pause;
using signal_safe::Text;

namespace {

constexpr int kSignal = 33;
constexpr uint64_t kPatience = 500'000'000;

HeldThread g_held[kMostHeld];
uint32_t g_held_count;
uint32_t g_released;

// As the kernel has it: libc's sigaction refuses this signal.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};

extern "C" void RecrashReturnFromHold();
asm(R"(
  .text
RecrashReturnFromHold:
  movq $15, %rax
  syscall
)");

RECRASH_SIGNAL_SAFE void HoldThisThread(int, siginfo_t*, void* context) {
  const uint32_t index = __atomic_fetch_add(&g_held_count, 1, __ATOMIC_ACQ_REL);
  if (index >= kMostHeld) return;
  HeldThread& held = g_held[index];
  asm("movq %%fs:0, %0" : "=r"(held.fs_base));
  held.context = static_cast<const ucontext_t*>(context);
  __atomic_store_n(&held.id, static_cast<int32_t>(Call(SYS_gettid)), __ATOMIC_RELEASE);
  while (__atomic_load_n(&g_released, __ATOMIC_ACQUIRE) == 0 && Nanoseconds(CLOCK_MONOTONIC) < g_made.deadline)
    Pause(1000000);
}

// Where there is no /proc: the others, found once for each report.
int32_t g_found[kMostHeld];
uint32_t g_found_count;
uint32_t g_not_found;  // that libc counts
uint32_t g_unsure;     // whether there are more

// By asking for each number that a thread can have, from the process's own on, until all are found that libc counts, or
// for half a second. A signal 0 is not sent.
RECRASH_SIGNAL_SAFE void FindByNumber() {
  if (Fails("task")) {
    g_unsure = 1;
    return;
  }
  constexpr uint64_t kLongest = 500'000'000;
  constexpr int32_t kNumbers = 1 << 22;  // PID_MAX_LIMIT
  constexpr int32_t kBetweenClocks = 4096;
  const uint32_t* const counted = g_state.thread_count;
  const uint32_t others = counted != nullptr ? *counted - 1 : kMostHeld;
  const uint64_t limit = Nanoseconds(CLOCK_MONOTONIC) + kLongest;
  for (int32_t i = 0; i < kNumbers && g_found_count < others && g_found_count < kMostHeld; ++i) {
    if (i % kBetweenClocks == 0 && Nanoseconds(CLOCK_MONOTONIC) > limit) g_unsure = 1;
    if (g_unsure != 0) break;
    const int32_t thread = (g_record.pid + i) % kNumbers;
    if (thread == 0 || thread == g_record.tid || Call(SYS_tgkill, g_record.pid, thread, 0) != 0) continue;
    g_found[g_found_count++] = thread;
  }
  // A child of vfork has its parent's count.
  if (counted == nullptr || g_record.pid != g_state.process) return;
  g_unsure = 0;
  g_not_found = others > g_found_count ? others - g_found_count : 0;
}

RECRASH_SIGNAL_SAFE int OpenTasks() {
  char path[64];
  (Text(path) << "/proc/").Decimal(static_cast<uint64_t>(g_record.pid)) << "/task";
  return open(Fails("task") ? "" : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Calls `visit` for each thread of the program but the failing one.
template <typename Visit>
RECRASH_SIGNAL_SAFE void ForEachOther(Visit visit) {
  const int folder = OpenTasks();
  if (folder < 0) {
    for (uint32_t i = 0; i < g_found_count; ++i) visit(g_found[i]);
    return;
  }
  alignas(8) static char entries[4096];
  long size;
  while ((size = Call(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      const char* digits = entry->d_name;
      const auto thread = static_cast<int32_t>(signal_safe::ReadNumber(digits, 10));
      if (thread != 0 && thread != g_record.tid) visit(thread);
    }
  }
  close(folder);
}

RECRASH_SIGNAL_SAFE bool IsHeld(int32_t thread) {
  for (uint32_t i = 0; i < HeldCount(); ++i)
    if (__atomic_load_n(&g_held[i].id, __ATOMIC_ACQUIRE) == thread) return true;
  return false;
}

}  // namespace

void PrepareToHold() {
  KernelAction action = {HoldThisThread, SA_SIGINFO | SA_ONSTACK | SA_RESTART | 0x04000000, RecrashReturnFromHold,
                         ~uint64_t{0}};
  __atomic_store_n(&g_released, 0, __ATOMIC_RELEASE);
  for (uint32_t i = 0; i < HeldCount(); ++i) g_held[i].id = 0;
  __atomic_store_n(&g_held_count, 0, __ATOMIC_RELEASE);
  Call(SYS_rt_sigaction, kSignal, &action, nullptr, sizeof action.mask);
}

void FindOtherThreads() {
  g_found_count = g_not_found = g_unsure = 0;
  const int tasks = OpenTasks();
  if (tasks >= 0)
    close(tasks);
  else
    FindByNumber();
}

bool MayHaveMoreThreads() { return g_unsure != 0; }

void HoldOtherThreads() {
  uint32_t others = 0;
  ForEachOther([&](int32_t thread) {
    if (others < kMostHeld && !Fails("hold") && Call(SYS_tgkill, g_record.pid, thread, kSignal) == 0) ++others;
  });
  const uint64_t limit = Nanoseconds(CLOCK_MONOTONIC) + kPatience;
  while (HeldCount() < others && Nanoseconds(CLOCK_MONOTONIC) < limit) Pause(100000);
}

uint32_t OthersNotHeld() {
  uint32_t missing = g_not_found;
  ForEachOther([&](int32_t thread) {
    if (!IsHeld(thread)) ++missing;
  });
  return missing;
}

void ReleaseThreads() { __atomic_store_n(&g_released, 1, __ATOMIC_RELEASE); }

uint32_t HeldCount() {
  const uint32_t count = __atomic_load_n(&g_held_count, __ATOMIC_ACQUIRE);
  return count < kMostHeld ? count : kMostHeld;
}

const HeldThread& HeldAt(uint32_t index) { return g_held[index]; }

}  // namespace recrash::client
