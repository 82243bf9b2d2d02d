// Where the program dies: in which thread or process, on which stack, below whose handlers.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "deaths.h"

namespace deaths {
namespace {

constexpr size_t kStack = 256 << 10;
constexpr int kFailures[] = {SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,  SIGILL,   SIGTRAP,
                             SIGSYS,  SIGXCPU, SIGXFSZ, SIGQUIT, SIGSTKFLT};

char* NewStack(size_t size) {
  char* low =
      static_cast<char*>(mmap(nullptr, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(low, 4096, PROT_NONE);
  return low + 4096;
}

int InMain(Box& box) { return Outer(&box); }

// --- threads

void* RunThread(void* box) { return reinterpret_cast<void*>(static_cast<long>(Outer(static_cast<Box*>(box)))); }

int InThread(Box& box) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, RunThread, &box) != 0) return 90;
  void* result = nullptr;
  pthread_join(thread, &result);
  return static_cast<int>(reinterpret_cast<long>(result));
}

// As a program's workers do that leave signals to one thread. The thread inherits it.
int InBlockedThread(Box& box) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const int status = InThread(box);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

// Each byte is another one than beside it, as in a program that works with it: little of it packs well.
int WithLargeHeap(Box& box) {
  constexpr size_t kSize = 64 << 20;
  char* heap = static_cast<char*>(malloc(kSize));
  uint32_t random = 1;
  for (size_t i = 0; i < kSize; ++i) heap[i] = static_cast<char>((random = random * 1664525 + 1013904223) >> 26);
  return Outer(&box) + heap[Hidden(5)];
}

volatile long g_turns;

void* Spin(void*) {
  for (;;) g_turns = g_turns + 1;
}

int BesideBusyThreads(Box& box) {
  constexpr int kThreads = 100;
  pthread_t thread;
  for (int i = 0; i < kThreads; ++i) pthread_create(&thread, nullptr, Spin, nullptr);
  while (g_turns == 0) {
  }
  return Outer(&box);
}

// All at once.
pthread_barrier_t g_barrier;

void* RunAtBarrier(void* box) {
  pthread_barrier_wait(&g_barrier);
  return RunThread(box);
}

int AtBarrier(Box& box) {
  constexpr int kThreads = 20;
  pthread_t threads[kThreads];
  pthread_barrier_init(&g_barrier, nullptr, kThreads);
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, RunAtBarrier, &box);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return 0;
}

// --- processes

int Tell(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 91;
  if (WIFEXITED(status)) Say("child: status %d\n", WEXITSTATUS(status));
  if (WIFSIGNALED(status)) Say("child: signal %d, core %d\n", WTERMSIG(status), WCOREDUMP(status) ? 1 : 0);
  return 0;
}

int InChild(Box& box) {
  const pid_t child = fork();
  if (child == 0) _exit(Outer(&box));
  return Tell(child);
}

int InVforkChild(Box& box) {
  const pid_t child = vfork();
  if (child == 0) _exit(Outer(&box));
  return Tell(child);
}

// --- handlers

Box* g_box;
int g_status;

void HandleAndDie(int) { g_status = Outer(g_box); }

int InHandler(Box& box) {
  g_box = &box;
  struct sigaction action = {};
  action.sa_handler = HandleAndDie;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
  return g_status;
}

struct sigaction g_earlier[NSIG];

void UseSignalStack(size_t size) {
  stack_t stack = {};
  stack.ss_sp = NewStack(size);
  stack.ss_size = size;
  sigaltstack(&stack, nullptr);
}

void InstallHandlers(void (*handler)(int, siginfo_t*, void*)) {
  UseSignalStack(kStack);
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : kFailures) sigaction(signal, &action, &g_earlier[signal]);
}

// Ends in the default action: what fails fails again, what was sent is sent again.
void SayAndReset(int number, siginfo_t* info, void*) {
  Say("own handler: signal %d, code %d\n", number, info->si_code);
  signal(number, SIG_DFL);
  raise(number);
}

void SayAndChain(int number, siginfo_t* info, void* context) {
  Say("own handler: signal %d, code %d\n", number, info->si_code);
  const struct sigaction& earlier = g_earlier[number];
  if ((earlier.sa_flags & SA_SIGINFO) != 0) return earlier.sa_sigaction(number, info, context);
  if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) return earlier.sa_handler(number);
  signal(number, SIG_DFL);
  raise(number);
}

// As the documentation of Boost.Stacktrace shows it.
void SayAndAbort(int number, siginfo_t*, void*) {
  signal(number, SIG_DFL);
  Say("own handler: trace\n");
  signal(SIGABRT, SIG_DFL);
  raise(SIGABRT);
}

// What an earlier handler does that fails itself.
void SayAndFail(int number, siginfo_t*, void*) {
  Say("own handler: signal %d\n", number);
  *Hidden<volatile int*>(nullptr) = 1;
}

int WithResettingHandlers(Box& box) { return InstallHandlers(SayAndReset), Outer(&box); }
int WithChainedHandlers(Box& box) { return InstallHandlers(SayAndChain), Outer(&box); }
int WithAbortingHandlers(Box& box) { return InstallHandlers(SayAndAbort), Outer(&box); }

int WithFailingHandlers(Box& box) { return InstallHandlers(SayAndFail), Outer(&box); }
int AtBarrierWithFailingHandlers(Box& box) { return InstallHandlers(SayAndFail), AtBarrier(box); }

int OnSmallStack(Box& box) {
  UseSignalStack(8 << 10);
  return Outer(&box);
}

// --- other stacks

ucontext_t g_main_context;
ucontext_t g_other_context;

void RunContext() { g_status = Outer(g_box); }

int InContext(Box& box) {
  g_box = &box;
  getcontext(&g_other_context);
  g_other_context.uc_stack.ss_sp = NewStack(kStack);
  g_other_context.uc_stack.ss_size = kStack;
  g_other_context.uc_link = &g_main_context;
  makecontext(&g_other_context, RunContext, 0);
  swapcontext(&g_main_context, &g_other_context);
  return g_status;
}

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(int value) { status = value; }
    void unhandled_exception() { throw; }
    int status = 0;
  };
  std::coroutine_handle<promise_type> handle;
};

Task Die(Box* box) { co_return Outer(box); }

int InCoroutine(Box& box) {
  const Task task = Die(&box);
  task.handle.resume();
  const int status = task.handle.promise().status;
  task.handle.destroy();
  return status;
}

int InLibrary(Box& box) {
  const char* path = getenv("DEATHS_LIBRARY");
  void* library = dlopen(path != nullptr ? path : "./deaths.so", RTLD_NOW | RTLD_LOCAL);
  using Function = int (*)(const char*, void (*)(const Box&));
  const auto die = library != nullptr ? reinterpret_cast<Function>(dlsym(library, "DieInLibrary")) : nullptr;
  if (die == nullptr) Say("%s\n", dlerror());
  return die != nullptr ? die(box.name, box.surround) : 92;
}

// --- before and after main

Box g_last;
void DieAtExit() {
  if (const int status = Outer(&g_last)) _exit(status);
}

int AtExit(Box& box) {
  g_last = box;
  atexit(DieAtExit);
  return 0;
}

const struct {
  const char* name;
  int (*run)(Box&);
} kContexts[] = {{"main", InMain},
                 {"thread", InThread},
                 {"fork", InChild},
                 {"vfork", InVforkChild},
                 {"handler", InHandler},
                 {"constructor", InMain},
                 {"exit", AtExit},
                 {"library", InLibrary},
                 {"ucontext", InContext},
                 {"coroutine", InCoroutine},
                 {"blocked", InBlockedThread},
                 {"earlier_handlers", InMain},
                 {"failing_handlers", InMain},
                 {"failing_later", WithFailingHandlers},
                 {"reset", WithResettingHandlers},
                 {"chained", WithChainedHandlers},
                 {"aborting", WithAbortingHandlers},
                 {"small_stack", OnSmallStack},
                 // Of barrier.py and speed.py.
                 {"barrier", AtBarrier},
                 {"barrier_earlier", AtBarrier},
                 {"barrier_later", AtBarrierWithFailingHandlers},
                 {"large_heap", WithLargeHeap},
                 {"busy", BesideBusyThreads}};

// Before anything of the program's, and so before recrash: only then are these handlers earlier ones.
void InstallEarlier(int count, char** words, char**) {
  if (count > 2 && strcmp(words[2], "earlier_handlers") == 0) InstallHandlers(SayAndReset);
  const bool fails =
      count > 2 && (strcmp(words[2], "failing_handlers") == 0 || strcmp(words[2], "barrier_earlier") == 0);
  if (fails) InstallHandlers(SayAndFail);
}
__attribute__((section(".preinit_array"), used)) void (*g_install_earlier)(int, char**, char**) = InstallEarlier;

}  // namespace

bool RunIn(const char* context, Box& box, int& status) {
  for (const auto& each : kContexts) {
    if (strcmp(each.name, context) != 0) continue;
    status = each.run(box);
    return true;
  }
  return false;
}

}  // namespace deaths
