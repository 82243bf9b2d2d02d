// The ways to die. Each is a function that fails by itself, whoever calls it with the same box: what a test of it
// needs.
//
// Built with -fstack-protector-strong, for SmashStack. With -DLIBRARY it becomes a library that dies in the same ways.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <recrash/recrash.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "deaths.h"

namespace deaths {
namespace {

constexpr uint64_t kWild = 0x123456789000;
constexpr uint64_t kNonCanonical = 0xdead'beef'0000'0000;
constexpr int kPage = 4096;

const int g_constant[64] = {7};
char g_data[64] = {'\xc3'};  // `ret`, were it code

}  // namespace

#define WAY(name) __attribute__((noinline, used)) int name(Box* box)

WAY(Nothing) { return box->count; }

// Memory.
WAY(NullRead) { return *box->slot + box->count; }
WAY(NullWrite) { return *box->slot = Hidden(box->count); }
WAY(WildRead) { return *box->slot + box->count; }
WAY(WildWrite) { return *box->slot = Hidden(box->count); }
WAY(NonCanonicalRead) { return *box->slot + box->count; }
WAY(ConstantWrite) { return *box->slot = Hidden(box->count); }
WAY(UnmappedRead) { return box->page[8] + box->count; }
WAY(ProtectedRead) { return box->page[8] + box->count; }
WAY(BeyondFile) { return box->page[kPage + 8] + box->count; }
WAY(UnalignedVector) {
  int result = 0;
  asm volatile("movaps (%1), %%xmm0\n movd %%xmm0, %0" : "=r"(result) : "r"(box->page + 4) : "xmm0", "memory");
  return result + box->count;
}
// With the flag AC the processor checks every access.
WAY(Unaligned) {
  asm volatile("pushfq\n orl $0x40000, (%%rsp)\n popfq" : : : "memory", "cc");
  int result = 0;
  asm volatile("movl (%1), %0" : "=r"(result) : "r"(box->page + 3));
  asm volatile("pushfq\n andl $~0x40000, (%%rsp)\n popfq" : : : "memory", "cc");
  return result + box->count;
}
WAY(StackOverflow) {
  char room[512];
  room[0] = static_cast<char>(box->count);
  asm volatile("" : : "r"(room) : "memory");
  return StackOverflow(box) + room[0];
}

// Code.
WAY(ExecuteData) { return reinterpret_cast<int (*)(Box*)>(box->page)(box) + box->count; }
WAY(CallNull) { return reinterpret_cast<int (*)(Box*)>(box->slot)(box) + box->count; }
WAY(IllegalInstruction) {
  if (box->divisor == 0) asm volatile("ud2");
  return box->count;
}
WAY(Privileged) {
  if (box->divisor == 0) asm volatile("hlt");
  return box->count;
}
WAY(Breakpoint) {
  if (box->divisor == 0) asm volatile("int3");
  return box->count;
}
WAY(DivideByZero) { return box->count / box->divisor; }

// The C library's word.
WAY(Abort) {
  if (box->divisor == 0) abort();
  return box->count;
}
WAY(Assert) {
  assert(box->divisor == 1 && "the divisor is one");
  return box->count;
}
// It was freed before: a replay finds the heap as at the crash.
WAY(FreeTwice) {
  free(Hidden(box->block));
  return box->count;
}
WAY(FreeForeign) {
  free(Hidden(box->block + 8));
  return box->count;
}
WAY(SmashStack) {
  char room[16];
  memset(room, 'A', static_cast<size_t>(Hidden(box->count)) + 25);
  return room[Hidden(3)] + box->count;
}

// C++.
struct Counter {
  ~Counter() { asm volatile(""); }
};
WAY(Throw) {
  Counter counter;
  if (box->divisor == 0) throw std::range_error("the divisor is zero");
  return box->count;
}
WAY(ThrowNumber) {
  if (box->divisor == 0) throw 42;
  return box->count;
}
WAY(ThrowInNoexcept);
__attribute__((noinline)) int Promise(Box* box) noexcept { return Throw(box) + box->count; }
WAY(ThrowInNoexcept) { return Promise(box) + box->count; }
WAY(Replace) {
  try {
    return Throw(box) + box->count;
  } catch (const std::range_error&) {
    throw std::logic_error("replaced");
  }
}
WAY(Terminate) {
  if (box->divisor == 0) std::terminate();
  return box->count;
}
struct Base {
  explicit Base(Box* box) { Call(box); }
  virtual ~Base() = default;
  __attribute__((noinline)) int Call(Box* box) { return Hidden(this)->Count(box) + box->count; }
  virtual int Count(Box* box) = 0;
};
struct Derived final : Base {
  using Base::Base;
  int Count(Box* box) override { return box->count; }
};
WAY(CallPure) { return Derived(box).Count(box) + box->count; }

// Signals that are sent.
template <int signal>
__attribute__((noinline)) int Raise(Box* box) {
  return raise(signal) + box->count;
}
// A child sends it to this thread, so that it is known which one fails.
WAY(SentByChild) {
  const pid_t self = getpid();
  const long thread = syscall(SYS_gettid);
  const pid_t child = fork();
  if (child == 0) {
    syscall(SYS_tgkill, self, thread, SIGSEGV);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  return box->count;
}
// The kernel sends it at the write.
WAY(FileTooLarge) {
  const rlimit limit = {100, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
  const int file = open("large", O_CREAT | O_RDWR | O_TRUNC, 0600);
  unlink("large");
  const ssize_t written = pwrite(file, "x", 1, 200);
  return static_cast<int>(written) + box->count;
}

// The kernel sends it when the process has used a second of processor time.
WAY(TooLong) {
  const rlimit limit = {1, RLIM_INFINITY};
  rlimit now = {};
  // A replay has another limit.
  if (setrlimit(RLIMIT_CPU, &limit) != 0 || getrlimit(RLIMIT_CPU, &now) != 0 || now.rlim_cur != 1) return box->count;
  while (clock() < 3 * CLOCKS_PER_SEC)
    for (int i = 0; i < 10'000'000; ++i) box->count = Hidden(box->count);
  return box->count;
}
// A filter of system calls sends it, as a sandbox's does.
WAY(ForbiddenCall) {
  sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_acct, 0, 1),
                        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {4, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  long result = SYS_acct;
  asm volatile("syscall" : "+a"(result) : "D"(nullptr) : "rcx", "r11", "memory");
  return static_cast<int>(result) + box->count;
}

// Goes on.
WAY(Report) {
  if (box->divisor == 0) RECRASH_REPORT("the divisor is zero");
  return box->count;
}
WAY(CaughtInMain) { return Throw(box) + box->count; }

namespace {

template <typename T>
uint64_t Address(T* object) {
  return reinterpret_cast<uint64_t>(object);
}

void PointTo(Box& box, uint64_t address) {
  box.slot = reinterpret_cast<int*>(address);
  box.low = box.high = address;
}
void PointToNull(Box& box) { PointTo(box, 0); }
void PointToWild(Box& box) { PointTo(box, kWild); }
void PointToConstant(Box& box) { PointTo(box, Address(g_constant)); }
void PointBeyondAddresses(Box& box) {
  PointTo(box, kNonCanonical);
  box.low = box.high = 0;  // the processor does not tell
}
void MapPage(Box& box) {
  box.page = static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  box.low = box.high = Address(box.page) + 8;
}
// Where no later mapping comes to lie.
void UnmapPage(Box& box) {
  void* const far = reinterpret_cast<void*>(kWild);
  box.page = static_cast<char*>(mmap(far, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  box.low = box.high = Address(box.page) + 8;
  munmap(box.page, kPage);
}
void ProtectPage(Box& box) {
  MapPage(box);
  mprotect(box.page, 2 * kPage, PROT_NONE);
}
void MapFile(Box& box) {
  const int file = open("mapped", O_CREAT | O_RDWR | O_TRUNC, 0600);
  if (write(file, "x", 1) != 1) abort();
  box.page = static_cast<char*>(mmap(nullptr, 2 * kPage, PROT_READ, MAP_PRIVATE, file, 0));
  close(file);
  unlink("mapped");
  box.low = box.high = Address(box.page) + kPage + 8;
}
void UseData(Box& box) {
  box.page = g_data;
  box.low = box.high = Address(g_data);
}
void UseVector(Box& box) {
  alignas(16) static char bytes[64];
  box.page = bytes;
  box.low = box.high = 0;  // nor here
}
void UseStack(Box& box) {
  box.high = Address(__builtin_frame_address(0));
  box.low = 1;
}
void UseHeap(Box& box) { box.block = static_cast<char*>(calloc(1, 100)); }
void UseFreed(Box& box) {
  UseHeap(box);
  box.is_freed = true;
}
void UseNothing(Box&) {}

struct Entry {
  const char* name;
  int (*way)(Box*);
  void (*prepare)(Box&);
};

#define ENTRY(way, prepare) {#way, way, prepare}
#define RAISE(signal) {"Raise_" #signal, Raise<signal>, UseNothing}

const Entry kEntries[] = {ENTRY(Nothing, UseNothing),
                          ENTRY(NullRead, PointToNull),
                          ENTRY(NullWrite, PointToNull),
                          ENTRY(WildRead, PointToWild),
                          ENTRY(WildWrite, PointToWild),
                          ENTRY(NonCanonicalRead, PointBeyondAddresses),
                          ENTRY(ConstantWrite, PointToConstant),
                          ENTRY(UnmappedRead, UnmapPage),
                          ENTRY(ProtectedRead, ProtectPage),
                          ENTRY(BeyondFile, MapFile),
                          ENTRY(UnalignedVector, UseVector),
                          ENTRY(Unaligned, UseVector),
                          ENTRY(StackOverflow, UseStack),
                          ENTRY(ExecuteData, UseData),
                          ENTRY(CallNull, PointToNull),
                          ENTRY(IllegalInstruction, UseNothing),
                          ENTRY(Privileged, UseNothing),
                          ENTRY(Breakpoint, UseNothing),
                          ENTRY(DivideByZero, UseNothing),
                          ENTRY(Abort, UseNothing),
                          ENTRY(Assert, UseNothing),
                          ENTRY(FreeTwice, UseFreed),
                          ENTRY(FreeForeign, UseHeap),
                          ENTRY(SmashStack, UseNothing),
                          ENTRY(Throw, UseNothing),
                          ENTRY(ThrowNumber, UseNothing),
                          ENTRY(ThrowInNoexcept, UseNothing),
                          ENTRY(Replace, UseNothing),
                          ENTRY(Terminate, UseNothing),
                          ENTRY(CallPure, UseNothing),
                          RAISE(SIGSEGV),
                          RAISE(SIGBUS),
                          RAISE(SIGABRT),
                          RAISE(SIGFPE),
                          RAISE(SIGILL),
                          RAISE(SIGTRAP),
                          RAISE(SIGSYS),
                          RAISE(SIGXCPU),
                          RAISE(SIGXFSZ),
                          RAISE(SIGQUIT),
                          RAISE(SIGSTKFLT),
                          ENTRY(SentByChild, UseNothing),
                          ENTRY(FileTooLarge, UseNothing),
                          ENTRY(TooLong, UseNothing),
                          ENTRY(ForbiddenCall, UseNothing),
                          ENTRY(Report, UseNothing),
                          ENTRY(CaughtInMain, UseNothing)};

}  // namespace

bool Prepare(Box& box, const char* way) {
  for (const Entry& entry : kEntries) {
    if (strcmp(entry.name, way) != 0) continue;
    box.way = entry.way;
    box.name = entry.name;
    box.count = 3;
    box.low = 0;
    box.high = ~0ul;
    entry.prepare(box);
    return true;
  }
  return false;
}

int Outer(Box* box) {
  Say("at %p, address %lx %lx, process %d, thread %ld\n", reinterpret_cast<void*>(box->way), box->low, box->high,
      getpid(), syscall(SYS_gettid));
  if (box->surround != nullptr) box->surround(*box);
  if (box->is_freed) free(box->block);  // by the thread that frees it again
  return box->way(box) + box->count;
}

#ifdef LIBRARY
extern "C" __attribute__((visibility("default"))) int DieInLibrary(const char* way, void (*surround)(const Box&)) {
  Box box = {};
  Prepare(box, way);
  box.surround = surround;
  return Outer(&box);
}
#endif

}  // namespace deaths
