// Fails by a null read, or as its second argument says, with handlers and signal masks that its first argument names.
// Built twice: with the client, and without anything of ours.
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <recrash/recrash.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace {

volatile int g_zero = 0;
int g_global = 4711;
struct sigaction g_before;
sigjmp_buf g_jump;

#define NOINLINE __attribute__((noinline))

NOINLINE void ReadNull() { g_global = *reinterpret_cast<int*>(static_cast<long>(g_zero)); }
NOINLINE void Abort() { std::abort(); }

void Fail() {
  std::printf("%p\n", reinterpret_cast<void*>(ReadNull));
  std::fflush(stdout);
  ReadNull();
}

void Say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(1);
}

void Install(int number, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigaction(number, &action, &g_before);
}

// ---- Handlers that the program installs after the client ------------------------------------------------------------

void ChainUp() {
  Install(SIGSEGV, [](int number, siginfo_t* info, void* context) {
    Say("handled\n");
    g_before.sa_sigaction(number, info, context);
  });
  Fail();
}

void ResetAndRaise() {
  signal(SIGSEGV, [](int number) {
    Say("handled\n");
    signal(number, SIG_DFL);
    raise(number);
  });
  Fail();
}

void ResetAndReturn() {
  signal(SIGSEGV, [](int number) {
    Say("handled\n");
    signal(number, SIG_DFL);
  });
  Fail();
}

void ResetByFlag() {
  Install(SIGSEGV, [](int, siginfo_t*, void*) { Say("handled\n"); }, static_cast<int>(SA_RESETHAND));
  Fail();
}

// The example of Boost.Stacktrace's documentation.
void AsBoostDoes() {
  const auto handler = [](int number) {
    signal(number, SIG_DFL);
    Say("handled\n");
    raise(SIGABRT);
  };
  signal(SIGSEGV, handler);
  signal(SIGABRT, handler);
  Fail();
}

void AbortHandled() {
  signal(SIGABRT, [](int) { Say("handled\n"); });
  std::printf("%p\n", reinterpret_cast<void*>(Abort));
  std::fflush(stdout);
  Abort();
}

void Exit() {
  signal(SIGSEGV, [](int) {
    Say("handled\n");
    std::exit(66);
  });
  Fail();
}

void ExitAtOnce() {
  signal(SIGSEGV, [](int) {
    Say("handled\n");
    _exit(66);
  });
  Fail();
}

void HandlerFails() {
  signal(SIGSEGV, [](int) {
    Say("handled\n");
    *reinterpret_cast<volatile int*>(static_cast<long>(g_zero) + 16) = 1;
  });
  Fail();
}

// ---- Handlers that go on: nothing of ours ---------------------------------------------------------------------------

NOINLINE bool CanRead(int* address) {
  if (sigsetjmp(g_jump, 1) != 0) return false;
  g_global = *address;
  return true;
}

void JumpBack(int, siginfo_t*, void*) { siglongjmp(g_jump, 1); }

void ProbeMemory() {
  Install(SIGSEGV, JumpBack);
  int readable = 0;
  for (int i = 0; i < 1000; ++i) readable += CanRead(i % 2 == 0 ? nullptr : &g_global);
  std::printf("%d\n", readable);
}

void ProbeAndFail() {
  Install(SIGSEGV, JumpBack);
  CanRead(nullptr);
  signal(SIGSEGV, SIG_DFL);
  Fail();
}

// The handler runs on a stack that is gone when the next failure comes.
void ProbeOnStackThatGoes() {
  constexpr size_t kSize = 64 << 10;
  stack_t stack = {}, before = {};
  stack.ss_sp = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack.ss_size = kSize;
  sigaltstack(&stack, &before);
  Install(SIGSEGV, JumpBack, SA_ONSTACK);
  CanRead(nullptr);
  sigaltstack(&before, nullptr);
  munmap(stack.ss_sp, kSize);
  signal(SIGSEGV, SIG_DFL);
  Fail();
}

void ProbeAndExit() {
  Install(SIGSEGV, JumpBack);
  CanRead(nullptr);
  std::exit(7);
}

void RaiseAndGoOn() {
  signal(SIGSEGV, [](int) { Say("handled\n"); });
  raise(SIGSEGV);
  std::puts("goes on");
}

// The second signal waits until the handler of the first has returned.
void RaiseInHandler() {
  static volatile int depth = 0, runs = 0;
  signal(SIGSEGV, [](int) {
    depth = depth + 1;
    if (runs == 0 && depth == 1) {
      runs = 1;
      raise(SIGSEGV);
    } else {
      runs = depth == 1 ? 2 : 3;
    }
    depth = depth - 1;
  });
  raise(SIGSEGV);
  std::printf("%d\n", runs);
}

void SeeOwnActions() {
  struct sigaction seen = {};
  sigaction(SIGFPE, nullptr, &seen);
  const auto handler = [](int, siginfo_t*, void*) {};
  Install(SIGSEGV, handler, SA_NODEFER);
  sigaction(SIGSEGV, nullptr, &seen);
  void (*const as_plain)(int, siginfo_t*, void*) = handler;
  std::printf("%d %d ", seen.sa_sigaction == as_plain, seen.sa_flags == (SA_SIGINFO | SA_NODEFER));
  const auto ignored = signal(SIGSEGV, SIG_IGN);
  std::printf("%d %d\n", reinterpret_cast<void*>(ignored) == reinterpret_cast<void*>(as_plain),
              signal(SIGSEGV, SIG_DFL) == SIG_IGN);
}

bool HasReport() {
  DIR* const folder = opendir("reports");
  bool found = false;
  for (const dirent* entry; folder != nullptr && (entry = readdir(folder)) != nullptr;)
    found = found || std::strstr(entry->d_name, ".dmp") != nullptr;
  if (folder != nullptr) closedir(folder);
  return found;
}

// ---- Masks ----------------------------------------------------------------------------------------------------------

sigset_t All() {
  sigset_t all;
  sigfillset(&all);
  return all;
}

void InWorkerThatBlocksAll() {
  std::thread([] {
    const sigset_t all = All();
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    Fail();
  }).join();
}

void InHandlerThatBlocksAll() {
  struct sigaction action = {};
  action.sa_handler = [](int) { Fail(); };
  action.sa_mask = All();
  sigaction(SIGTERM, &action, nullptr);
  raise(SIGTERM);
}

// What the program blocks otherwise stays blocked.
void BlockAndWait() {
  const sigset_t all = All();
  sigprocmask(SIG_BLOCK, &all, nullptr);
  kill(getpid(), SIGTERM);
  int number = 0;
  sigwait(&all, &number);
  std::printf("%d\n", number == SIGTERM);
}

// Whoever waits for such a signal gets it.
void BlockAndWaitForFailure() {
  const sigset_t all = All();
  sigprocmask(SIG_BLOCK, &all, nullptr);
  kill(getpid(), SIGSEGV);
  raise(SIGFPE);
  int first = 0, second = 0;
  sigwait(&all, &first);
  sigwait(&all, &second);
  sigset_t now;
  sigprocmask(SIG_BLOCK, nullptr, &now);
  std::printf("%d %d %d\n", first, second, sigismember(&now, SIGSEGV));
}

void RaiseWhileBlocked() {
  const sigset_t all = All();
  std::thread([&] {
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::thread([] { raise(SIGSEGV); }).join();
  }).join();
  std::puts("goes on");
}

// ---- Hangs ----------------------------------------------------------------------------------------------------------

volatile bool g_hangs = true;

NOINLINE void Hang() {
  for (volatile int turns = 0; g_hangs;) turns = turns + 1;
}

// Until there is a report.
void HangFor(void (*before)()) {
  std::printf("%p\n", reinterpret_cast<void*>(Hang));
  std::fflush(stdout);
  RECRASH_ALIVE();
  before();
  std::thread([] {
    for (int i = 0; i < 1000 && !HasReport(); ++i) usleep(10000);
    usleep(1500000);  // no second report comes
    g_hangs = false;
  }).detach();
  Hang();
}

void BlockAll() {
  const sigset_t all = All();
  sigprocmask(SIG_BLOCK, &all, nullptr);
}

void StayAlive() {
  for (int i = 0; i < 30; ++i) {
    RECRASH_ALIVE();
    usleep(100000);
  }
}

// ---- Signals beyond Breakpad's --------------------------------------------------------------------------------------

void ForbiddenCall() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {4, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) std::abort();
  syscall(SYS_getppid);
}

void TooMuchTime() {
  const rlimit limit = {1, RLIM_INFINITY};
  setrlimit(RLIMIT_CPU, &limit);
  for (volatile int turns = 0;;) turns = turns + 1;
}

void TooLargeFile() {
  const rlimit limit = {1, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
  FILE* file = std::fopen("large", "w");
  std::fputs("too large", file);
  std::fclose(file);
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, void (*)()> ways = {
      {"chain-up", ChainUp},
      {"reset-and-raise", ResetAndRaise},
      {"reset-and-return", ResetAndReturn},
      {"reset-by-flag", ResetByFlag},
      {"as-boost-does", AsBoostDoes},
      {"abort", AbortHandled},
      {"exit", Exit},
      {"exit-at-once", ExitAtOnce},
      {"probe-and-exit", ProbeAndExit},
      {"probe-on-stack-that-goes", ProbeOnStackThatGoes},
      {"probe-memory", ProbeMemory},
      {"probe-and-fail", ProbeAndFail},
      {"raise-and-go-on", RaiseAndGoOn},
      {"see-own-actions", SeeOwnActions},
      {"worker-blocks-all", InWorkerThatBlocksAll},
      {"handler-blocks-all", InHandlerThatBlocksAll},
      {"block-and-wait", BlockAndWait},
      {"block-and-wait-for-failure", BlockAndWaitForFailure},
      {"raise-while-blocked", RaiseWhileBlocked},
      {"handler-fails", HandlerFails},
      {"raise-in-handler", RaiseInHandler},
      {"hang", [] { HangFor([] {}); }},
      {"hang-blocking-all", [] { HangFor(BlockAll); }},
      {"stay-alive", StayAlive},
      {"never-alive", [] { usleep(2500000); }},
      {"forbidden-call", ForbiddenCall},
      {"too-much-time", TooMuchTime},
      {"too-large-file", TooLargeFile},
      {"quit", [] { raise(SIGQUIT); }},
      {"stack-fault", [] { raise(SIGSTKFLT); }},
  };
  const auto found = ways.find(count > 1 ? arguments[1] : "");
  if (found == ways.end()) return 2;
  found->second();
  return 7;
}
