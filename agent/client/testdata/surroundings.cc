// Fails by a null read in surroundings that its argument names: with little of something, or with much. Built twice:
// with the client, and without anything of ours.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <recrash/recrash.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

volatile int g_zero = 0;
int g_global = 4711;

#define NOINLINE __attribute__((noinline))

NOINLINE void ReadNull() { g_global = *reinterpret_cast<int*>(static_cast<long>(g_zero)); }

void Fail() {
  std::printf("%p\n", reinterpret_cast<void*>(ReadNull));
  std::fflush(stdout);
  ReadNull();
}

// The number that the test gives, or `otherwise`.
long Count(long otherwise) {
  const char* text = std::getenv("COUNT");
  return text != nullptr ? std::atol(text) : otherwise;
}

void Limit(int resource, rlim_t soft, rlim_t hard) {
  const rlimit limit = {soft, hard};
  if (setrlimit(resource, &limit) != 0) std::abort();
}

// Starts threads that do `work` for ever, and waits until all do.
void StartThreads(long count, void (*work)()) {
  static std::atomic<long> running = 0;
  for (long i = 0; i < count; ++i)
    std::thread([work] {
      ++running;
      for (;;) work();
    }).detach();
  while (running < count) std::this_thread::yield();
}

void AmongBusyThreads() {
  StartThreads(Count(100), [] { ++g_global; });
  Fail();
}

void AmongManyThreads() {
  StartThreads(Count(2000), [] { pause(); });
  Fail();
}

void ReportAmongThreads() {
  StartThreads(2, [] { pause(); });
  RECRASH_REPORT("among threads");
}

// Lives on with three threads more and a secret, until it is killed.
void Waiting() {
  static char secret[] = "the password of the waiting program";
  for (char& c : secret) c = static_cast<char>(c ^ 1);
  RECRASH_SENSITIVE(secret, sizeof secret);
  StartThreads(3, [] { pause(); });
  std::puts("ready");
  std::fflush(stdout);
  for (;;) pause();
}

// A child of vfork leaves traces of its end in the memory that it shares.
void ReportAfterAFailedChild() {
  StartThreads(2, [] { pause(); });
  if (const pid_t child = vfork(); child == 0)
    ReadNull();
  else
    waitpid(child, nullptr, 0);
  RECRASH_REPORT("after a failed child");
}

void WithManyDescriptors() {
  Limit(RLIMIT_NOFILE, static_cast<rlim_t>(Count(10000)) + 10, static_cast<rlim_t>(Count(10000)) + 10);
  for (long i = 0; i < Count(10000); ++i)
    if (dup(STDERR_FILENO) < 0) break;
  Fail();
}

void WithAllDescriptorsUsed() {
  while (dup(STDERR_FILENO) >= 0) continue;
  Fail();
}

// Allocates until there is no more, and keeps it.
void UseMemoryUp() {
  while (mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) continue;
}

void BelowALimitOf(int resource, rlim_t soft, rlim_t hard) {
  Limit(resource, soft, hard);
  UseMemoryUp();
  Fail();
}

// As little as there is: less than what is in use.
void BelowADataLimitOfNothing() {
  Limit(RLIMIT_DATA, 4096, 4096);
  Fail();
}

void WithAlignmentCheck() {
  std::printf("%p\n", reinterpret_cast<void*>(WithAlignmentCheck));
  std::fflush(stdout);
  alignas(8) char bytes[16] = {};
  asm volatile("pushfq\n orl $0x40000, (%%rsp)\n popfq\n movl 1(%0), %%eax" : : "r"(bytes) : "rax", "cc", "memory");
}

void BelowALimitOfProcesses() {
  Limit(RLIMIT_NPROC, 0, 0);
  Fail();
}

void BelowASoftLimitOfFileSize() {
  Limit(RLIMIT_FSIZE, 4096, RLIM_INFINITY);
  Fail();
}

// MiB of a heap that does not compress away, in pieces.
void WithAHeapOf(long mebibytes) {
  uint64_t number = 1;
  std::vector<uint64_t*> pieces;
  for (long i = 0; i < mebibytes * 16; ++i) {
    auto* piece = static_cast<uint64_t*>(std::malloc(64 << 10));
    for (size_t word = 0; word < (64 << 10) / 8; ++word)
      piece[word] = number = number * 6364136223846793005 + 1442695040888963407;
    pieces.push_back(piece);
  }
  [[maybe_unused]] const ssize_t told = write(1, "has its heap\n", 13);
  Fail();
  g_global = static_cast<int>(pieces.size());
}

// Beside what the kernel takes of it for the registers, handlers have 1 KiB. Below nothing can be written.
void OnASmallAlternateStack() {
  constexpr size_t kBelow = 64 << 10;
  auto* pages =
      static_cast<char*>(mmap(nullptr, 2 * kBelow, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(pages, kBelow, PROT_NONE);
  stack_t stack = {};
  stack.ss_sp = pages + kBelow;
  stack.ss_size = getauxval(AT_MINSIGSTKSZ) + 1024;
  if (sigaltstack(&stack, nullptr) != 0) std::abort();
  Fail();
}

// Neighbours with other rights stay apart.
void AmongManyMappings() {
  for (long i = 0; i < Count(60000); ++i) {
    const int rights = i % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE;
    auto* page = static_cast<char*>(mmap(nullptr, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (page == MAP_FAILED) std::abort();
    if (i % 2 != 0) *page = 1;
  }
  Fail();
}

// Copies of a library, each of which is a module of its own.
void AmongManyModules() {
  for (long i = 0; i < Count(2500); ++i) {
    const std::string path = "./lib" + std::to_string(i) + ".so";
    std::filesystem::copy_file(std::getenv("LIBRARY"), path);
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) std::abort();
  }
  Fail();
}

volatile int g_children = 0;

// A program that counts its children sees none of ours.
void CountingChildren() {
  signal(SIGCHLD, [](int) { g_children = g_children + 1; });
  RECRASH_REPORT("counted");
  int others = 0;
  while (waitpid(-1, nullptr, WNOHANG) > 0) ++others;
  std::printf("%d %d %s\n", g_children, others, errno == ECHILD ? "none" : "some");
}

// One thread waits for any child all the time.
void WaitingForChildren() {
  static std::atomic<int> seen = 0;
  std::thread([] {
    for (;;)
      if (waitpid(-1, nullptr, 0) > 0) ++seen;
  }).detach();
  for (int i = 0; i < 3; ++i) RECRASH_REPORT("waited");
  std::printf("%d\n", seen.load());
}

}  // namespace

int main(int count, char** arguments) {
  const std::map<std::string, void (*)()> surroundings = {
      {"busy-threads", AmongBusyThreads},
      {"many-threads", AmongManyThreads},
      {"report-among-threads", ReportAmongThreads},
      {"waiting", Waiting},
      {"many-descriptors", WithManyDescriptors},
      {"report-after-a-failed-child", ReportAfterAFailedChild},
      {"descriptors", WithAllDescriptorsUsed},
      {"data", [] { BelowALimitOf(RLIMIT_DATA, 64 << 20, 64 << 20); }},
      {"address-space", [] { BelowALimitOf(RLIMIT_AS, 1 << 20, RLIM_INFINITY); }},
      {"no-data", BelowADataLimitOfNothing},
      {"alignment-check", WithAlignmentCheck},
      {"processes", BelowALimitOfProcesses},
      {"file-size", BelowASoftLimitOfFileSize},
      {"heap", [] { WithAHeapOf(Count(101)); }},
      {"heap-and-little-more",
       [] {
         Limit(RLIMIT_AS, 112 << 20, 112 << 20);
         WithAHeapOf(101);
       }},
      {"small-alternate-stack", OnASmallAlternateStack},
      {"many-mappings", AmongManyMappings},
      {"many-modules", AmongManyModules},
      {"counting-children", CountingChildren},
      {"waiting-for-children", WaitingForChildren},
  };
  const auto found = surroundings.find(count > 1 ? arguments[1] : "");
  if (found == surroundings.end()) return 2;
  found->second();
  return 7;
}
