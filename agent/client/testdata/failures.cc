// Fails in the way that its argument names. Built twice: with the client, and without anything of ours. The first line
// on stdout is the address of the function that fails, for comparison with the report.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <recrash/recrash.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <cassert>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" char _end[];  // of the program's data, by the linker

namespace {

volatile int g_zero = 0;
int g_global = 4711;
struct sigaction g_client_action;

void FailIn(void (*function)()) {
  std::printf("%p\n", reinterpret_cast<void*>(function));
  std::fflush(stdout);
  function();
}

#define NOINLINE __attribute__((noinline))

NOINLINE void ReadNull() { g_global = *reinterpret_cast<int*>(static_cast<long>(g_zero)); }
NOINLINE void DivideByZero() { g_global = g_global / g_zero; }
// The lowest bit of the first bytes of a function that is not called.
NOINLINE void ChangeCodeAndRead(int bytes) {
  const auto code = reinterpret_cast<uintptr_t>(&DivideByZero);
  std::vector<unsigned char> changed(reinterpret_cast<unsigned char*>(code),
                                     reinterpret_cast<unsigned char*>(code) + bytes);
  for (unsigned char& byte : changed) byte ^= 1;
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);  // writes where the program may not
  if (pwrite(memory, changed.data(), changed.size(), static_cast<off_t>(code)) == bytes) ReadNull();
}
NOINLINE void Illegal() { __builtin_trap(); }
NOINLINE void Breakpoint() { asm volatile("int3"); }
NOINLINE void Abort() { std::abort(); }
// As GoogleTest does for a death test.
NOINLINE void AbortCaptured() {
  FILE* file = std::fopen("gtest_captured_stream.abc", "w");
  dup2(fileno(file), STDERR_FILENO);
  std::fputs("boom\n", stderr);
  std::abort();
}
NOINLINE void Assert() { assert(g_zero == 1 && "zero became one"); }
NOINLINE void FreeTwice() {
  void* p = std::malloc(10);
  std::free(p);
  asm volatile("" : "+r"(p));
  std::free(p);
}
// A file of no bytes has no page to give.
NOINLINE void ReadBeyondFile() {
  FILE* file = std::tmpfile();
  auto* page = static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fileno(file), 0));
  g_global = page[0];
}
NOINLINE int Recurse(int depth) {
  char frame[512];
  std::memset(frame, depth, sizeof frame);
  asm volatile("" : : "r"(frame) : "memory");
  return depth < 0 ? 0 : Recurse(depth + 1) + frame[depth & 511];
}
NOINLINE void Overflow() { g_global = Recurse(0); }

void InThread(void (*function)()) {
  std::thread([=] { FailIn(function); }).join();
}

struct Cleanup {
  ~Cleanup() { std::fputs("cleaned up\n", stderr); }
};
struct OtherBase {
  virtual ~OtherBase() = default;
  int number = 1;
};
struct Virtual : virtual OtherBase, virtual std::exception {
  const char* what() const noexcept override { return "found behind a virtual base"; }
};
struct NotAnException {
  int number = 5;
};
NOINLINE void Throw() {
  Cleanup cleanup;
  throw std::runtime_error("boom " + std::to_string(3 + g_zero));
}
NOINLINE void ThrowVirtual() { throw Virtual(); }
NOINLINE void ThrowNumber() { throw NotAnException(); }
NOINLINE void ThrowInLibrary() { g_global = std::string("abc").at(7 + static_cast<unsigned>(g_zero)); }
NOINLINE void Promise() noexcept {
  Throw();
  std::puts("not reached");
}
// No exception of C++: there is no type before it, but memory that looks like an address.
struct Foreign {
  uint64_t before[16];
  _Unwind_Exception exception;
};
NOINLINE void PromiseAndUnwind() noexcept {
  std::set_terminate([] {
    std::fputs("own terminate handler\n", stderr);
    std::abort();
  });
  static Foreign foreign;
  for (uint64_t& word : foreign.before) word = 0x6563657274756f63;
  _Unwind_RaiseException(&foreign.exception);
}
NOINLINE void Rethrow() {
  try {
    Throw();
  } catch (const std::exception&) {
    throw;
  }
}
NOINLINE void Replace() {
  try {
    Throw();
  } catch (const std::exception&) {
    throw std::logic_error("replaced");
  }
}
NOINLINE void ReplaceTwice() {
  try {
    Replace();
  } catch (const std::logic_error&) {
    throw std::bad_alloc();
  }
}
// The handler has an exception of its own between the two.
NOINLINE void ReplaceLater() {
  try {
    Throw();
  } catch (const std::exception&) {
    try {
      ThrowNumber();
    } catch (const NotAnException&) {
    }
    throw std::logic_error("replaced");
  }
}
// One was replaced and handled before, in the same handler.
NOINLINE void ThrowInHandlerOfAnother() {
  try {
    ThrowNumber();
  } catch (const NotAnException&) {
    try {
      Replace();
    } catch (const std::logic_error&) {
    }
    throw std::bad_alloc();
  }
}
NOINLINE void ThrowAfterReplacing() {
  try {
    Replace();
  } catch (const std::logic_error&) {
  }
  Throw();
}
// It was never thrown, and lies where the first one did.
NOINLINE void ReplaceStored() {
  try {
    Throw();
  } catch (const std::exception&) {
  }
  try {
    std::rethrow_exception(std::make_exception_ptr(std::runtime_error("stored")));
  } catch (const std::exception&) {
    throw std::logic_error("replaced");
  }
}
NOINLINE void PromiseAndReplace() noexcept { Replace(); }
NOINLINE void AbortAfterCatch() {
  try {
    Throw();
  } catch (const std::exception&) {
  }
  std::abort();
}
NOINLINE void RethrowFromThread() {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      Throw();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  std::rethrow_exception(thrown);
}

std::terminate_handler g_library_handler;
[[noreturn]] void OwnTerminate() {
  std::fputs("own terminate handler\n", stderr);
  g_library_handler();
  std::abort();
}
NOINLINE void ThrowWithOwnHandler() {
  g_library_handler = std::get_terminate();
  std::set_terminate(OwnTerminate);
  Throw();
}

NOINLINE void Report() {
  RECRASH_REPORT("totals disagree");
  std::puts("goes on");
}
NOINLINE void ThrowEscapes() { throw std::runtime_error("\x1b]0;pwn\x07\xc2\x9b\xe2\x80\xae\nrecrash: all is well"); }
NOINLINE void ReportThrice() {
  for (int i = 0; i < 3; ++i) RECRASH_REPORT("again");
}

// Installed before the client: priorities below 101 are earlier.
void EarlierHandler(int, siginfo_t* info, void*) {
  if (g_client_action.sa_sigaction != nullptr) {
    sigaction(SIGSEGV, &g_client_action, nullptr);
    return;
  }
  char text[64];
  std::snprintf(text, sizeof text, "earlier handler: code %d\n", info->si_code);
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
  _exit(66);
}
__attribute__((constructor(100))) void InstallEarlierHandler() {
  if (std::getenv("EARLIER_HANDLER") == nullptr) return;
  struct sigaction action = {};
  action.sa_sigaction = EarlierHandler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGTRAP, &action, nullptr);
}

NOINLINE void CrashTogether() {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      pthread_barrier_wait(&barrier);
      ReadNull();
    });
  for (std::thread& thread : threads) thread.join();
}

NOINLINE void CrashNamed() {
  pthread_setname_np(pthread_self(), "worker-7");
  std::thread([] { pause(); }).detach();
  ReadNull();
}

// Of a hundred pages only those that were written are there.
NOINLINE void TouchSomePages() {
  auto* pages = static_cast<char*>(
      mmap(nullptr, 100 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  pages[3 * 4096] = 'a';
  pages[50 * 4096 + 5] = 'b';
  std::printf("%p\n", static_cast<void*>(pages));
  std::fflush(stdout);
  ReadNull();
}

NOINLINE void FillMemory() {
  constexpr size_t kSize = 48 << 20;
  auto* far = static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(far, 1, kSize);
  auto* near = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::strcpy(near, "near");
  char* volatile on_stack = near;
  std::printf("%p\n", static_cast<void*>(near));
  std::fflush(stdout);
  ReadNull();
  g_global = on_stack[0];
}

// As AddressSanitizer does for its shadow.
NOINLINE void ReserveMuch() {
  constexpr size_t kSize = size_t{1} << 44;
  auto* pages = static_cast<char*>(
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (pages == MAP_FAILED) std::abort();
  pages[kSize / 2] = 'x';
  std::printf("%p\n", static_cast<void*>(pages + kSize / 2));
  std::fflush(stdout);
  ReadNull();
}

// Threads come and go; what the client keeps for each must go with it.
NOINLINE void ManyThreads() {
  auto mappings = [] {
    FILE* maps = std::fopen("/proc/self/maps", "r");
    int lines = 0;
    for (int c; (c = std::fgetc(maps)) != EOF;) lines += c == '\n';
    std::fclose(maps);
    return lines;
  };
  auto one = [](void* exits) -> void* {
    if (exits != nullptr) pthread_exit(nullptr);
    return nullptr;
  };
  auto run = [&](int count) {
    for (int i = 0; i < count; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, nullptr, one, i % 2 ? &thread : nullptr) != 0) std::abort();
      pthread_join(thread, nullptr);
    }
  };
  run(10);
  const int before = mappings();
  run(2000);
  std::printf("%d\n", mappings() - before);
}

NOINLINE void OpenFileAndCrash() {
  FILE* file = std::fopen("/proc/self/exe", "r");
  if (dup2(fileno(file), 17) < 0) std::abort();
  lseek(17, 100, SEEK_SET);
  ReadNull();
}

NOINLINE void ThrowAMillion() {
  for (int i = 0; i < 1000000; ++i) {
    try {
      throw i;
    } catch (int caught) {
      g_global += caught;
    }
  }
}

// A page that is excluded from core dumps, and one beside it that is not.
NOINLINE void ExcludeAPage() {
  auto* pages = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::strcpy(pages, "seen");
  std::strcpy(pages + 4096, "secret");
  madvise(pages + 4096, 4096, MADV_DONTDUMP);
  std::printf("%p\n", static_cast<void*>(pages));
  std::fflush(stdout);
  ReadNull();
  munmap(pages, 8192);
}

NOINLINE void FailNotDumpable() {
  prctl(PR_SET_DUMPABLE, 0);
  if (std::getenv("KEEP_MEMORY") != nullptr) RECRASH_KEEP_MEMORY(1);
  FailIn(ReadNull);
}

// Its stack is excluded from core dumps, as that of a thread that handles keys may be.
NOINLINE void FailOnExcludedStack() {
  constexpr size_t kSize = 256 << 10;
  auto* stack = static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  madvise(stack, kSize, MADV_DONTDUMP);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kSize);
  pthread_t thread;
  pthread_create(
      &thread, &attributes,
      [](void*) -> void* {
        char secret[32];
        std::strcpy(secret, "words on an excluded stack");
        asm volatile("" : : "r"(secret) : "memory");
        FailIn(ReadNull);
        asm volatile("" : : "r"(secret) : "memory");
        return nullptr;
      },
      nullptr);
  pthread_join(thread, nullptr);
}

NOINLINE void NotDumpable() {
  prctl(PR_SET_DUMPABLE, 0);
  RECRASH_REPORT("secret");
  std::printf("%d\n", prctl(PR_GET_DUMPABLE));
}

// Behind this array lies, sooner or later, whatever was linked last.
char g_small[64];
char* volatile g_beyond = g_small + sizeof g_small;

NOINLINE void Overrun() {
  for (int i = 0; i < 64 << 10; ++i) g_beyond[i] = 'A';
}

// As if nothing were protected: everything of ours is RUIN's byte.
NOINLINE void RuinEverything() {
  const auto begin = reinterpret_cast<uintptr_t>(g_small) & ~uintptr_t{4095};
  const size_t size = reinterpret_cast<uintptr_t>(_end) - begin;
  if (mprotect(reinterpret_cast<void*>(begin), size, PROT_READ | PROT_WRITE) != 0) std::abort();
  char* const from = g_beyond;
  std::memset(from, std::atoi(std::getenv("RUIN")), static_cast<size_t>(_end - from));
  ReadNull();
}

// One after the other, in the same memory.
NOINLINE void FailAfterVforkChild() {
  const pid_t child = vfork();
  if (child == 0) {
    ReadNull();
    _exit(9);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ReadNull();
}

// Cancelled while its report is made.
NOINLINE void CancelFailingThread() {
  pthread_t thread;
  auto fail = [](void*) -> void* {
    ReadNull();
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, fail, nullptr) != 0) std::abort();
  usleep(300000);
  pthread_cancel(thread);
  pthread_join(thread, nullptr);
}

sigjmp_buf g_before_failure;

// A handler of the program's jumps away from the report.
NOINLINE void JumpOutOfReport() {
  std::signal(SIGALRM, [](int) { siglongjmp(g_before_failure, 1); });
  if (sigsetjmp(g_before_failure, 1) != 0) _exit(8);
  ualarm(300000, 0);
  ReadNull();
}

// The handler that was there before the client's puts the client's back.
NOINLINE void PutClientBack() {
  sigaction(SIGSEGV, nullptr, &g_client_action);
  ReadNull();
}

NOINLINE void FailWithFullPipe() {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  char full[4096] = {};
  while (write(ends[1], full, sizeof full) > 0) continue;
  fcntl(ends[1], F_SETFL, 0);
  dup2(ends[1], STDERR_FILENO);
  ReadNull();
}

}  // namespace

namespace {
NOINLINE int CatchElsewhere() {
  try {
    Throw();
  } catch (const std::exception&) {
    return 1;
  }
  return 0;
}
}  // namespace

int main(int count, char** arguments) {
  const char* message = dlerror();
  const struct mallinfo2 heap = mallinfo2();
  if (const char* file = std::getenv("OPEN_BEFORE_FAILING")) chmod(file, 0777);
  if (count > 1 && std::strcmp(arguments[1], "caught-in-main") == 0) {
    try {
      g_global += CatchElsewhere();
      FailIn(Throw);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "main: %s\n", error.what());
      return 5;
    }
  }
  const std::map<std::string, std::function<void()>> failures = {
      {"segv", [] { FailIn(ReadNull); }},
      {"fpe", [] { FailIn(DivideByZero); }},
      {"flip-code",
       [] {
         std::printf("%p\n", reinterpret_cast<void*>(&DivideByZero));
         std::fflush(stdout);
         ChangeCodeAndRead(1);
       }},
      {"patch-code", [] { ChangeCodeAndRead(5); }},
      {"ill", [] { FailIn(Illegal); }},
      {"trap", [] { FailIn(Breakpoint); }},
      {"bus", [] { FailIn(ReadBeyondFile); }},
      {"abort", [] { FailIn(Abort); }},
      {"abort-captured", [] { FailIn(AbortCaptured); }},
      {"raise", [] { raise(SIGSEGV); }},
      {"assert", [] { FailIn(Assert); }},
      {"free", [] { FailIn(FreeTwice); }},
      {"overflow", [] { FailIn(Overflow); }},
      {"thread", [] { InThread(ReadNull); }},
      {"thread-overflow", [] { InThread(Overflow); }},
      {"thread-throw", [] { InThread(Throw); }},
      {"throw", [] { FailIn(Throw); }},
      {"throw-escapes", [] { FailIn(ThrowEscapes); }},
      {"throw-virtual", [] { FailIn(ThrowVirtual); }},
      {"throw-number", [] { FailIn(ThrowNumber); }},
      {"throw-in-library", [] { FailIn(ThrowInLibrary); }},
      {"noexcept", [] { FailIn(Promise); }},
      {"noexcept-foreign", [] { FailIn(PromiseAndUnwind); }},
      {"rethrow", [] { FailIn(Rethrow); }},
      {"replace", [] { FailIn(Replace); }},
      {"replace-twice", [] { FailIn(ReplaceTwice); }},
      {"replace-later", [] { FailIn(ReplaceLater); }},
      {"replace-stored", [] { FailIn(ReplaceStored); }},
      {"replace-noexcept", [] { FailIn(PromiseAndReplace); }},
      {"throw-in-handler", [] { FailIn(ThrowInHandlerOfAnother); }},
      {"throw-after-replacing", [] { FailIn(ThrowAfterReplacing); }},
      {"thread-replace", [] { InThread(Replace); }},
      {"rethrow-from-thread", [] { FailIn(RethrowFromThread); }},
      {"abort-after-catch", [] { FailIn(AbortAfterCatch); }},
      {"own-terminate", [] { FailIn(ThrowWithOwnHandler); }},
      {"report", [] { FailIn(Report); }},
      {"report-thrice", ReportThrice},
      {"together", [] { FailIn(CrashTogether); }},
      {"named", CrashNamed},
      {"some-pages", TouchSomePages},
      {"much-memory", FillMemory},
      {"reserved", ReserveMuch},
      {"many-threads", ManyThreads},
      {"open-file", OpenFileAndCrash},
      {"overrun", [] { FailIn(Overrun); }},
      {"ruin", RuinEverything},
      {"vfork", FailAfterVforkChild},
      {"cancel", CancelFailingThread},
      {"jump", JumpOutOfReport},
      {"put-back", PutClientBack},
      {"full-pipe", FailWithFullPipe},
      {"throw-a-million", ThrowAMillion},
      {"not-dumpable", NotDumpable},
      {"excluded-page", ExcludeAPage},
      {"excluded-stack", FailOnExcludedStack},
      {"fail-not-dumpable", FailNotDumpable},
      {"terminate-handler",
       [] {
         std::printf("%p\n", reinterpret_cast<void*>(std::get_terminate()));
         std::fflush(stdout);
         ReadNull();
       }},
      {"untouched", [&] { std::printf("%s, %zu bytes\n", message ? message : "no error", heap.uordblks); }},
      {"nothing", [] {}},
  };
  const auto failure = failures.find(count > 1 ? arguments[1] : "");
  if (failure == failures.end()) return 2;
  failure->second();
  return 7;
}
