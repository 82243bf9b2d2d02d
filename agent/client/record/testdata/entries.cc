// Crashes after its state has moved on in the way that its argument names. Each function says that it has begun by a
// breakpoint, with its stack pointer at the entry: a tracer then keeps the memory, for comparison with what the
// recorder kept. The last one lets the tracer go.
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
#define NOINLINE __attribute__((noinline))

namespace {

constexpr size_t kPage = 4096;

bool g_traced;

QUIET inline void Tell(uintptr_t sp) {
  if (g_traced) asm volatile("int3" : : "D"(sp) : "memory");
}
// First in a function: what it does before that is not of its entry.
#define BEGUN() Tell(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + 8)

int g_data = 4711;
// Far from what is written before: the kernel maps 16 pages around one that is read.
struct {
  char before[100 * kPage];
  volatile char text[40 * kPage];
} g_later = {"not empty", "a file's until it is written"};
int g_bss[3 * kPage];
char* g_block;
char* g_area;
volatile int g_ticks;
int* volatile g_null;

QUIET char* Anonymous(size_t size, void* at = nullptr) {
  const int fixed = at != nullptr ? MAP_FIXED : 0;
  return static_cast<char*>(mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0));
}

NOINLINE int Crash(int n) {
  BEGUN();
  Tell(0);
  g_data = n;
  return *g_null;
}

// ---- What moves on
// ---------------------------------------------------------------------------------------------------

NOINLINE int SimpleInner(char* local) {
  BEGUN();
  local[0] = 'B';
  memset(g_block, 'b', 3 * kPage);
  free(g_block);
  g_bss[5000] = 2;
  return Crash(++g_data) + 1;
}
NOINLINE int SimpleOuter(char* local) {
  BEGUN();
  ++g_data;
  g_later.text[0] = 'X';
  g_bss[0] = 1;
  return SimpleInner(local) + local[0];
}
NOINLINE int Simple() {
  char local[5000];
  memset(local, 'A', sizeof local);
  g_block = static_cast<char*>(malloc(20000));
  memset(g_block, 'a', 20000);
  return SimpleOuter(local) + local[1];
}

NOINLINE int GrowInner(char** blocks) {
  BEGUN();
  for (int i = 0; i < 200; ++i) memset(blocks[i], 'g', 5000);
  for (int i = 200; i < 400; ++i) memset(blocks[i] = static_cast<char*>(malloc(5000)), 'h', 5000);
  return Crash(1) + 1;
}
NOINLINE int Grow() {
  BEGUN();
  static char* blocks[400];
  for (int i = 0; i < 200; ++i) memset(blocks[i] = static_cast<char*>(malloc(5000)), 'f', 5000);
  return GrowInner(blocks) + 1;
}

// Mapped, given back, mapped anew at the same place, moved.
NOINLINE int MapsLast() {
  BEGUN();
  memset(g_area, 'd', 8 * kPage);
  munmap(g_block, 16 * kPage);
  return Crash(1) + 1;
}
NOINLINE int MapsThird(char* moved) {
  BEGUN();
  munmap(g_area, 16 * kPage);
  Anonymous(16 * kPage, g_area);
  g_area[kPage] = 'c';
  moved[0] = 'n';
  return MapsLast() + 1;
}
NOINLINE int MapsSecond() {
  BEGUN();
  madvise(g_area + 2 * kPage, 4 * kPage, MADV_DONTNEED);
  memset(g_block, 'x', 16 * kPage);
  char* moved = Anonymous(4 * kPage);
  memset(moved, 'm', 4 * kPage);
  char* place = Anonymous(64 * kPage);
  munmap(place, 64 * kPage);
  moved = static_cast<char*>(mremap(moved, 4 * kPage, 8 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, place));
  return MapsThird(moved) + 1;
}
NOINLINE int Maps() {
  BEGUN();
  g_area = Anonymous(16 * kPage);
  g_block = Anonymous(16 * kPage);
  memset(g_area, 'a', 16 * kPage);
  memset(g_block, 'w', 8 * kPage);
  return MapsSecond() + 1;
}

// The child enters recorded functions and writes; nothing of that is the parent's.
NOINLINE int ChildWork(int depth) {
  g_bss[depth] = depth;
  g_block[depth * 100] = 'k';
  return depth == 0 ? 0 : ChildWork(depth - 1) + 1;
}
NOINLINE int ForkInner() {
  BEGUN();
  g_block[1] = 'q';
  return Crash(2) + 1;
}
NOINLINE int ForkOuter() {
  BEGUN();
  const pid_t child = fork();
  if (child == 0) _exit(ChildWork(20) == 20 ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) _exit(9);
  g_block[0] = 'P';
  return ForkInner() + 1;
}
NOINLINE int Fork() {
  g_block = Anonymous(4 * kPage);
  memset(g_block, 'p', 4 * kPage);
  return ForkOuter() + 1;
}

// The kernel writes for the program: with mprotect in the place of write tracking that would be EFAULT.
NOINLINE int ReadInner(int from) {
  BEGUN();
  if (read(from, g_block + 100, 3 * kPage) != 3 * kPage) _exit(9);
  return Crash(3) + 1;
}
NOINLINE int ReadOuter(int from) {
  BEGUN();
  if (read(from, g_block + kPage, 2 * kPage) != 2 * kPage) _exit(9);
  return ReadInner(from) + 1;
}
NOINLINE int Read() {
  g_block = Anonymous(8 * kPage);
  memset(g_block, 'r', 8 * kPage);
  const int from = open("/proc/self/exe", O_RDONLY);
  lseek(from, 77, SEEK_SET);
  return ReadOuter(from) + 1;
}

// A recorded handler every 200 us, while recorded functions are entered.
NOINLINE void OnTick(int) { g_bss[++g_ticks % 4000] = g_ticks; }
NOINLINE int Busy(int n) { return g_bss[100 + n % 7] += n; }
QUIET void Tick(long microseconds) {
  const itimerval every = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &every, nullptr);
}
NOINLINE int SignalsInner() {
  BEGUN();
  g_bss[7] = 7;
  return Crash(4) + 1;
}
NOINLINE int SignalsOuter() {
  BEGUN();
  Tick(200);
  while (g_ticks < 600) Busy(g_ticks);
  Tick(0);
  return SignalsInner() + 1;
}
NOINLINE int Signals() {
  signal(SIGALRM, OnTick);
  Tick(200);
  while (g_ticks < 300) Busy(g_ticks);
  Tick(0);
  return SignalsOuter() + 1;
}

// A handler that never returns, out of whatever it came into.
jmp_buf g_back;
NOINLINE void OnTickJump(int) {
  ++g_ticks;
  siglongjmp(g_back, 1);
}
NOINLINE int Jumps() {
  signal(SIGALRM, OnTickJump);
  sigsetjmp(g_back, 1);
  if (g_ticks < 200) {
    Tick(150);
    for (;;) Busy(1);
  }
  Tick(0);
  return SignalsInner() + 1;
}

// A second thread that stands still, and one that writes all the time.
volatile bool g_stop;
QUIET void* StandStill(void*) {
  while (!g_stop) pause();
  return nullptr;
}
QUIET void* Write(void*) {
  for (unsigned i = 0; !g_stop; ++i) g_bss[i % 12000] = static_cast<int>(i);
  return nullptr;
}
NOINLINE int ThreadsInner() {
  BEGUN();
  g_block[0] = 'T';
  return Crash(5) + 1;
}
NOINLINE int ThreadsOuter() {
  BEGUN();
  memset(g_block, 'u', 5000);
  return ThreadsInner() + 1;
}
NOINLINE int Threads(void* (*other)(void*)) {
  pthread_t thread;
  pthread_create(&thread, nullptr, other, nullptr);
  usleep(20000);
  g_block = static_cast<char*>(malloc(10000));
  memset(g_block, 't', 10000);
  return ThreadsOuter() + 1;
}

// Maps and unmaps while another thread takes snapshots.
QUIET void* Remap(void*) {
  while (!g_stop) {
    char* area = Anonymous(64 * kPage);
    memset(area, 'z', 64 * kPage);
    munmap(area, 64 * kPage);
  }
  return nullptr;
}
NOINLINE int Racing() {
  pthread_t threads[2];
  for (pthread_t& thread : threads) pthread_create(&thread, nullptr, Remap, nullptr);
  for (int i = 0; i < 1000; ++i) Busy(i);
  return Crash(6) + 1;
}

// Entered as often as there is time for.
NOINLINE long Hot(long n) {
  asm volatile("" : : : "memory");
  return n + g_data;
}
QUIET double Seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}
NOINLINE int Often() {
  memset(g_block = Anonymous(1024 * kPage), 'o', 1024 * kPage);
  const double end = Seconds(CLOCK_PROCESS_CPUTIME_ID) + 0.6;
  long entries = 0;
  while (Seconds(CLOCK_PROCESS_CPUTIME_ID) < end) {
    for (int i = 0; i < 1000; ++i) g_block[Hot(i) % 4096 * 1000]++;
    entries += 1000;
  }
  printf("%ld entries\n", entries);
  fflush(stdout);
  return Crash(7) + 1;
}

// More memory than a log of 1 MiB holds, written over and over.
NOINLINE int Rewrite(int round) {
  volatile int returned = 0;  // so that it is a call
  memset(g_block, round, 400 * kPage);
  returned = round == 0 ? Crash(8) : Rewrite(round - 1);
  return returned + 1;
}

// As much as several batches, written before anything is entered that lasts.
NOINLINE int Spread() {
  memset(g_block = Anonymous(2000 * kPage), 's', 2000 * kPage);
  for (int i = 0; i < 60; ++i) Busy(i);
  g_block[1000 * kPage] = 'S';
  return SignalsInner() + 1;
}
NOINLINE int Large() {
  g_block = Anonymous(400 * kPage);
  return Rewrite(20) + 1;
}

// Entered time and again at one place on the stack, from one call: soon before another snapshot is due.
NOINLINE int Again(int left) {
  if (left == 0) BEGUN();
  g_bss[0] = left;
  return left == 0 ? Crash(9) + 1 : left;
}
NOINLINE int Repeat() {
  int sum = 0;
  for (volatile int left = 5000; left >= 0; left = left - 1) sum += Again(left);
  return sum;
}

// The program closes what it did not open.
NOINLINE int Close() {
  BEGUN();
  for (int i = 3; i < 1100; ++i) close(i);
  g_data = 1;
  return SignalsInner() + 1;
}

#include "agent/client/record/testdata/reached.h"

}  // namespace

int main(int count, char** arguments) {
  g_traced = count > 2 && strcmp(arguments[2], "traced") == 0;
  const char* name = count > 1 ? arguments[1] : "";
  const auto is = [name](const char* other) { return strcmp(name, other) == 0; };
  if (int (*const run)() = FindReached(name)) return run();
  if (is("simple")) return Simple();
  if (is("grow")) return Grow();
  if (is("maps")) return Maps();
  if (is("fork")) return Fork();
  if (is("read")) return Read();
  if (is("signals")) return Signals();
  if (is("jumps")) return Jumps();
  if (is("thread")) return Threads(StandStill);
  if (is("writer")) return Threads(Write);
  if (is("racing")) return Racing();
  if (is("often")) return Often();
  if (is("large")) return Large();
  if (is("spread")) return Spread();
  if (is("again")) return Repeat();
  if (is("close")) return Close();
  return 3;
}
