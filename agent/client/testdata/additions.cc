// Adds notes and files to its reports, and is asked before one is made, as its arguments say; then fails. Built twice:
// with the client, and without anything of ours.
#include <pthread.h>
#include <recrash/recrash.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

volatile int g_zero = 0;

__attribute__((noinline)) void ReadNull() { g_zero = *reinterpret_cast<volatile int*>(static_cast<long>(g_zero)); }

void AddSome() {
  RECRASH_NOTE("document", "letter.odt");
  RECRASH_NOTE("level", "1");
  RECRASH_NOTE("level", "2");
  RECRASH_NOTE("gone", "soon");
  RECRASH_NOTE("gone", nullptr);
  RECRASH_NOTE("escape", "\x1b[2Jred\nline");
  RECRASH_NOTE("", "no key");
}

void AddTooMany() {
  for (int i = 0; i < 100; ++i) RECRASH_NOTE(("note" + std::to_string(100 + i)).c_str(), "value");
  RECRASH_NOTE("note100", "changed");  // though there is no room for another
  RECRASH_NOTE("note101", std::string(5000, 'x').c_str());
  RECRASH_NOTE(std::string(100, 'k').c_str(), "no room");
}

// The keys of all threads, and one that they share; a signal handler writes amid.
void AddFromThreads() {
  signal(SIGUSR1, [](int) { RECRASH_NOTE("handler", "ran"); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      const std::string key = "thread" + std::to_string(i);
      for (int value = 0; value <= 20000; ++value) {
        RECRASH_NOTE("shared", std::string(static_cast<size_t>(value) % 900, static_cast<char>('a' + i)).c_str());
        RECRASH_NOTE(key.c_str(), std::to_string(value).c_str());
        if (value % 100 == 0) raise(SIGUSR1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Writers are at work in the moment of the crash.
void AddUntilTheEnd() {
  constexpr int kWriters = 8;
  static std::atomic<uint64_t> written[kWriters];
  for (int i = 0; i < kWriters; ++i) {
    std::thread([i] {
      const std::string key = "busy" + std::to_string(i);
      for (;; ++written[i])
        RECRASH_NOTE(key.c_str(), std::string(900, static_cast<char>('a' + written[i] % 26)).c_str());
    }).detach();
  }
  for (const std::atomic<uint64_t>& each : written)
    while (each < 100) continue;
}

void AddSecret() {
  static std::string secret;
  for (const char c : std::string("dpssfdu!ipstf!cbuufsz!tubqmf")) secret += static_cast<char>(c - 1);
  RECRASH_SENSITIVE(secret.data(), secret.size());
  RECRASH_NOTE("password", secret.c_str());
  RECRASH_LOG("log");
  RECRASH_ATTACH("attached");
  for (const char* name : {"log", "attached"}) {
    FILE* file = std::fopen(name, "w");
    std::fprintf(file, "password=%s\n", secret.c_str());
    std::fclose(file);
  }
  std::fprintf(stderr, "password=%s\n", secret.c_str());
}

void AddSecretAmongTooMany() {
  AddSecret();
  static char values[5000];
  for (const char& value : values) RECRASH_SENSITIVE(&value, 1);
}

void NameFiles() {
  RECRASH_ATTACH("settings");
  RECRASH_ATTACH("forgotten");
  RECRASH_FORGET_FILE("forgotten");
  RECRASH_ATTACH("missing");
  RECRASH_ATTACH("large");
  RECRASH_ATTACH("pipe");
  RECRASH_ATTACH("/proc/self/environ");
  RECRASH_LOG("log");
  RECRASH_LOG("log");
  RECRASH_LOG("missing-log");
  if (chdir("/") != 0) std::abort();
}

volatile bool g_never = false;

int Answer(const recrash_failure* failure, void* data) {
  const std::string_view how = static_cast<const char*>(data);
  const char text[] = "asked\n";
  if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) return 0;
  if (how == "refuse") return 0;
  if (how == "segv") ReadNull();
  if (how == "abort") std::abort();
  if (how == "hang")
    while (!g_never) continue;
  if (how == "sleep")
    while (!g_never) pause();
  if (how == "overflow") {
    volatile char frame[4096];
    frame[0] = 1;
    return Answer(failure, data) + frame[0];
  }
  if (how == "clobber") {
    // Everything that calls preserve, and a blocked signal.
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    sigdelset(&all, SIGSEGV);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    sigfillset(&all);
    pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
    asm volatile("xorl %%ebx, %%ebx\n\txorl %%r12d, %%r12d\n\txorl %%r13d, %%r13d\n\txorl %%ebp, %%ebp\n\tstd\n\tud2"
                 :
                 :
                 : "rbx", "r12", "r13");
  }
  char line[256];
  std::snprintf(line, sizeof line, "%d %d %d %s %s %s", failure->signal, failure->code,
                failure->thread == syscall(SYS_gettid), failure->exception, failure->what, failure->reason);
  RECRASH_NOTE("failure", line);
  return 1;
}

void Ask(const std::string& how) {
  static std::string data;
  data = how;
  RECRASH_BEFORE_REPORT(Answer, data.data(), how == "hang" || how == "sleep" ? 1 : 30);
}

// Installed before the client: priorities below 101 are earlier. It must find the failure as it was.
void EarlierHandler(int, siginfo_t* info, void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const bool in_read_null = static_cast<uint64_t>(registers[REG_RIP]) - reinterpret_cast<uint64_t>(ReadNull) < 100;
  _exit(info->si_code == SEGV_MAPERR && info->si_addr == nullptr && in_read_null ? 66 : 67);
}

__attribute__((constructor(100))) void InstallEarlierHandler() {
  if (std::getenv("EARLIER_HANDLER") == nullptr) return;
  struct sigaction action = {};
  action.sa_sigaction = EarlierHandler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

// What the thread had before it was asked it has afterwards: signal mask, handlers, alternate stack.
std::string StateOfThread() {
  std::string state;
  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  stack_t stack;
  sigaltstack(nullptr, &stack);
  state += std::to_string(reinterpret_cast<uintptr_t>(stack.ss_sp)) + " " + std::to_string(stack.ss_size) + " " +
           std::to_string(stack.ss_flags);
  for (int number = 1; number < 32; ++number) {
    struct sigaction action = {};
    sigaction(number, nullptr, &action);
    state += " " + std::to_string(reinterpret_cast<uintptr_t>(action.sa_sigaction)) +
             (sigismember(&mask, number) ? "!" : "");
  }
  constexpr unsigned long long kDirection = 1 << 10;
  if ((__builtin_ia32_readeflags_u64() & kDirection) != 0) state += " backwards";
  return state;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string add = count > 1 ? arguments[1] : "";
  const std::string fail = count > 2 ? arguments[2] : "segv";
  if (add == "notes") AddSome();
  if (add == "many") AddTooMany();
  if (add == "threads") AddFromThreads();
  if (add == "busy") AddUntilTheEnd();
  if (add == "secret") AddSecret();
  if (add == "too-many-secrets") AddSecretAmongTooMany();
  if (add == "files") NameFiles();
  if (add.rfind("ask-", 0) == 0) Ask(add.substr(4));
  if (fail == "abort") std::abort();
  if (fail == "throw") throw std::string("thrown");
  if (fail == "report") {
    const std::string before = StateOfThread();
    RECRASH_REPORT("why not");
    return before == StateOfThread() ? 7 : 8;
  }
  if (fail == "nothing") return 7;
  if (fail == "thread") std::thread(ReadNull).join();
  ReadNull();
}
