// Gives each thread a block: an alternate signal stack, so that the overflow of any thread's stack is caught, and the
// record of the thread's last throw.
//
// A block is one mapping: guard page, 64 KiB of alternate stack, ThreadBlock, room for two throws' copies of the stack.
// The parent makes it in pthread_create (mmap, 3 µs), so that a running thread always has one. The destructor of a
// pthread key frees it, also on pthread_exit and cancellation. malloc is not used: the program's heap is as it would be
// without recrash.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/signal_safe/pages.h"
#include "agent/client/client.h"
#include "agent/client/watch/trampoline.h"

extern "C" {
__attribute__((weak)) int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
__attribute__((weak)) int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
}

extern "C" void* __libc_stack_end;  // of ld.so: the main thread's stack pointer at the program's first instruction

namespace recrash::client {
namespace {

using signal_safe::kPage;

// The frames of client and Breakpad take 3 KiB, the kernel's signal frame 1 to 11 KiB (AVX-512, AMX). The rest is for
// earlier handlers of the program.
constexpr size_t kAlternateStack = 64 << 10;

// initial-exec: the default TLS model calls __tls_get_addr, which may allocate on a thread's first access, fatal when
// that access is in the crash handler.
__attribute__((tls_model("initial-exec"))) thread_local ThreadBlock* t_block;

size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }

ThreadBlock* MakeBlock() {
  const size_t copy = RoundUp(g_state.mode == Mode::kLive ? g_state.options.throw_stack : 0, 16);
  const size_t stack = g_state.mode == Mode::kLive ? kAlternateStack : 0;
  const size_t size = RoundUp(kPage + stack + sizeof(ThreadBlock) + 16 + 2 * copy, kPage);
  void* mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  mprotect(mapping, kPage, PROT_NONE);
  const uint64_t base = reinterpret_cast<uint64_t>(mapping);
  auto* block = reinterpret_cast<ThreadBlock*>(base + kPage + stack);
  block->mapping = base;
  block->mapping_size = size;
  block->alternate_stack = stack != 0 ? base + kPage : 0;
  if (copy != 0) {
    block->thrown.stack_copy = RoundUp(base + kPage + stack + sizeof(ThreadBlock), 16);
    block->replaced.stack_copy = block->thrown.stack_copy + copy;
  }
  return block;
}

void UseAlternateStack(const ThreadBlock& block) {
  if (block.alternate_stack == 0) return;
  stack_t stack = {};
  stack.ss_sp = reinterpret_cast<void*>(block.alternate_stack);
  stack.ss_size = kAlternateStack;
  sigaltstack(&stack, nullptr);
}

void FreeBlock(void* argument) {
  auto* block = static_cast<ThreadBlock*>(argument);
  if (t_block == block) t_block = nullptr;
  stack_t current = {};
  // The program may have set a stack of its own since.
  if (block->alternate_stack != 0 && sigaltstack(nullptr, &current) == 0 &&
      reinterpret_cast<uint64_t>(current.ss_sp) == block->alternate_stack) {
    stack_t off = {};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
  }
  munmap(reinterpret_cast<void*>(block->mapping), block->mapping_size);
}

void Adopt(ThreadBlock* block) {
  t_block = block;
  if (g_state.thread_key_valid != 0) pthread_setspecific(g_state.thread_key, block);
}

void SetStack(ThreadBlock& block, uint64_t high, uint64_t size) {
  block.stack_high = high;
  block.stack_low = high - size;
  watch::SetStackBounds({block.stack_low, high});
}

void* RunThread(void* argument) {
  auto* block = static_cast<ThreadBlock*>(argument);
  Adopt(block);
  UseAlternateStack(*block);
  UnblockFailures();  // of a mask that it was created with
  // glibc lays the thread's control block at the top of its stack, also of one that the program supplied.
  SetStack(*block, static_cast<uint64_t>(pthread_self()), block->stack_low);
  return block->start(block->argument);
}

size_t StackSize(const pthread_attr_t* attributes) {
  size_t size = 0;
  if (attributes != nullptr && pthread_attr_getstacksize(attributes, &size) == 0) return size;
  pthread_attr_t defaults;
  if (pthread_attr_init(&defaults) != 0) return 0;
  pthread_attr_getstacksize(&defaults, &size);
  pthread_attr_destroy(&defaults);
  return size;
}

// A sanitizer's interceptor, which lists threads itself; in a static link (--wrap) libc's; or the next definition.
CreateFunction RealCreate() {
  const CreateFunction interceptor = &__interceptor_pthread_create;
  return Real(g_state.real_create, interceptor != nullptr ? interceptor : &__real_pthread_create, "pthread_create");
}

}  // namespace

ThreadBlock* ExistingThreadBlock() { return t_block; }

ThreadBlock* CurrentThreadBlock() {
  if (t_block == nullptr) {
    if (ThreadBlock* block = MakeBlock()) Adopt(block);
  }
  return t_block;
}

void InstallMainThread() {
  g_state.real_create = RealCreate();
  pthread_key_t key;
  if (pthread_key_create(&key, FreeBlock) == 0) {
    g_state.thread_key = key;
    g_state.thread_key_valid = 1;
  }
  ThreadBlock* block = CurrentThreadBlock();
  if (block == nullptr) return;
  stack_t current = {};
  // Without an alternate stack Breakpad would allocate one on the program's heap. A stack that is there already stays.
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) != 0) UseAlternateStack(*block);
  if (syscall(SYS_gettid) != getpid()) return;  // a library that another thread has loaded
  block->is_main = 1;
  rlimit limit;
  const bool limited = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  SetStack(*block, RoundUp(reinterpret_cast<uint64_t>(__libc_stack_end), kPage),
           limited ? limit.rlim_cur : 64ull << 20);
}

}  // namespace recrash::client

// Interposes libc's: all libraries see the definition in the program, or in a preloaded library, first.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* __restrict thread,
                                                                     const pthread_attr_t* __restrict attributes,
                                                                     void* (*start)(void*),
                                                                     void* __restrict argument) noexcept {
  using namespace recrash::client;
  if (g_state.mode != Mode::kLive) return RealCreate()(thread, attributes, start, argument);
  const int saved_errno = errno;
  ThreadBlock* block = MakeBlock();
  errno = saved_errno;
  if (block == nullptr) return RealCreate()(thread, attributes, start, argument);
  if (const ThreadBlock* const parent = ExistingThreadBlock()) block->blocked = parent->blocked;
  block->start = start;
  block->argument = argument;
  block->stack_low = StackSize(attributes);
  const int result = RealCreate()(thread, attributes, RunThread, block);
  if (result != 0) munmap(reinterpret_cast<void*>(block->mapping), block->mapping_size);
  return result;
}
