// Remembers the last throw of each thread, for the case that nobody catches it.
//
// If no handler is found, std::terminate runs on the whole stack, which has every frame up to the throw. But `noexcept`
// unwinds up to itself first. So each throw keeps a bounded copy of the stack from its caller upwards, and the type.
// what() is called in std::terminate only: it is the program's code and may do anything.
//
// libstdc++ is not linked. Its functions are found by weak references or in the dynamic symbol table, so that the same
// archive serves C programs. All throws, also those of libstdc++.so, come here first: all libraries see the definition
// in the program, or in a preloaded library.
#include <errno.h>
#include <string.h>

#include <utility>

#include "agent/base/signal_safe/own_memory.h"
#include "agent/base/signal_safe/text.h"
#include "agent/client/client.h"
#include "agent/client/save_registers.h"

extern "C" {
__attribute__((weak)) void* __cxa_get_globals();
__attribute__((weak)) void* __cxa_current_exception_type();
// Of a static link, where --wrap leads to the hooks.
__attribute__((weak)) void __real___cxa_throw(void* object, void* type, void (*destructor)(void*));
__attribute__((weak)) void* __real___cxa_begin_catch(void* exception);
__attribute__((weak)) void (*__real__ZSt13set_terminatePFvvE(void (*handler)()))();
}

namespace recrash::client {
namespace {

using signal_safe::CopyText;

ThrowFunction RealThrow() { return Real(g_state.real_throw, &__real___cxa_throw, "__cxa_throw"); }

BeginCatchFunction RealBeginCatch() {
  return Real(g_state.real_begin_catch, &__real___cxa_begin_catch, "__cxa_begin_catch");
}

SetTerminateFunction RealSetTerminate() {
  return Real(g_state.real_set_terminate, &__real__ZSt13set_terminatePFvvE, "_ZSt13set_terminatePFvvE");
}

// Copies the stack from the thrower upwards, up to the end of the stack. If the stack is not the thread's own (a
// coroutine's), its end is not known: the kernel copies, and stops there.
void CopyStack(ThreadBlock& block) {
  abi::ThrowRecord& record = block.thrown;
  uint64_t size = g_state.options.throw_stack;
  record.stack_size = 0;
  if (size == 0 || record.stack_copy == 0) return;
  const uint64_t sp = record.registers[7];
  record.stack_address = sp;
  if (sp >= block.stack_low && sp < block.stack_high) {
    if (size > block.stack_high - sp) size = block.stack_high - sp;
    memcpy(reinterpret_cast<void*>(record.stack_copy), reinterpret_cast<const void*>(sp), size);
    record.stack_size = size;
    return;
  }
  record.stack_size = signal_safe::ReadOwnAnyhow(sp, reinterpret_cast<void*>(record.stack_copy), size);
}

// The class of an exception says which runtime made it. It is 1 more if the exception came through a
// std::exception_ptr.
constexpr uint64_t kGnuClass = 0x474e5543432b2b00;    // "GNUCC++"
constexpr uint64_t kClangClass = 0x434c4e47432b2b00;  // "CLNGC++"

uint64_t WordAt(uint64_t address) {
  uint64_t word;
  memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
  return word;
}

// Returns the header of the newest caught exception, or 0 if there is none or it is not C++'s. pthread_cancel,
// pthread_exit and other languages unwind with exceptions that have no such header; libstdc++ would take whatever lies
// there for a type.
uint64_t CaughtHeader() {
  if (&__cxa_get_globals == nullptr) return 0;
  const uint64_t header = *static_cast<const uint64_t*>(__cxa_get_globals());
  if (header == 0) return 0;
  // The class lies in what the unwinder knows of it: 80 bytes behind the header's begin in libstdc++, 96 in libc++abi.
  const bool is_gnu = (WordAt(header + 80) & ~uint64_t{1}) == kGnuClass;
  const bool is_clang = (WordAt(header + 96) & ~uint64_t{1}) == kClangClass;
  return is_gnu || is_clang ? header : 0;
}

// Returns the exception that std::terminate was called for. libstdc++'s header lies 112 bytes before the object. One
// that came through std::exception_ptr has a header of its own, whose first word is the object. libc++abi's header (128
// bytes) is recognised only if it belongs to this thread's last throw.
uint64_t CurrentObject(uint64_t header, uint64_t last_thrown) {
  const uint64_t exception_class = WordAt(header + 80);
  if (exception_class == kGnuClass) return header + 112;
  if (exception_class == (kGnuClass | 1)) return WordAt(header);
  return last_thrown > header && last_thrown - header <= 160 ? last_thrown : 0;
}

// The exception whose handler runs, if __cxa_throw threw it; else 0. One that came through std::exception_ptr may have
// been thrown elsewhere, or never, and lie where the last one of this thread lay.
uint64_t HandledObject(const ThreadBlock& block) {
  const uint64_t header = CaughtHeader();
  if (header == 0 || (WordAt(header + 80) != kGnuClass && WordAt(header + 96) != kClangClass)) return 0;
  return CurrentObject(header, block.thrown.object);
}

// A handler may throw another exception, `object`, in place of the one that it has. The first one is kept, as long as
// its successors are replaced like that. What a handler throws and catches itself changes nothing.
void NoteReplaced(ThreadBlock& block, uint64_t object) {
  const uint64_t handled = HandledObject(block);
  abi::ThrowRecord& replaced = block.replaced;
  const bool goes_on =
      handled != 0 && replaced.armed != 0 && (handled == replaced.object || handled == block.replaced_by);
  if (!goes_on) {
    const bool is_last = handled != 0 && handled == block.thrown.object && block.thrown.stack_size != 0;
    if (is_last) std::swap(block.thrown, replaced);
    replaced.armed = is_last ? 1 : 0;
  }
  block.replaced_by = object;
}

// Called for its what() only while a handler still has it.
void NoteWhatOfReplaced(abi::ThrowRecord& replaced, uint64_t newest) {
  constexpr int kMostCaught = 64;
  uint64_t header = newest;
  for (int i = 0; header != 0 && i < kMostCaught; ++i, header = WordAt(header + 32)) {  // nextException
    if (WordAt(header + 80) != kGnuClass) return;
    if (header + 112 != replaced.object) continue;
    CopyText(replaced.what,
             WhatOf(reinterpret_cast<const void*>(WordAt(header)), reinterpret_cast<void*>(header + 112)));
    return;
  }
}

// Makes the record that of the current exception, for the SIGABRT that follows. If this thread has thrown another one
// since, or another thread threw this one, the stack copy is gone; type and what() are not.
void NoteTermination(ThreadBlock& block, uint64_t header, const void* type) {
  abi::ThrowRecord& record = block.thrown;
  const uint64_t object = CurrentObject(header, record.object);
  if (object == 0 || object != record.object) {
    const uint64_t copy = record.stack_copy;
    memset(&record, 0, sizeof record);
    record.stack_copy = copy;
    record.object = object;
    CopyText(record.type, TypeName(type));
    block.replaced.armed = 0;
  }
  if (block.replaced.armed != 0) NoteWhatOfReplaced(block.replaced, header);
  if (object != 0) CopyText(record.what, WhatOf(type, reinterpret_cast<void*>(object)));
  block.terminating = 1;
  record.armed = 1;
}

void OnTerminate() {
  // A program that keeps get_terminate() and calls it from a handler of its own comes here twice.
  static thread_local __attribute__((tls_model("initial-exec"))) bool entered;
  if (entered) {
    if (g_state.original_terminate != nullptr) g_state.original_terminate();
    return;
  }
  entered = true;
  ThreadBlock* block = ExistingThreadBlock();
  const uint64_t header = CaughtHeader();
  const void* type = header != 0 && &__cxa_current_exception_type != nullptr ? __cxa_current_exception_type() : nullptr;
  if (block != nullptr && type != nullptr) NoteTermination(*block, header, type);
  HideTerminateHook();
  if (g_progress.previous_terminate != nullptr) g_progress.previous_terminate();
  // std::terminate calls abort when a handler comes back.
}

}  // namespace

void InstallExceptionHooks() {
  g_state.real_throw = RealThrow();
  if (g_state.real_throw == nullptr) return;  // a C program
  g_state.real_begin_catch = RealBeginCatch();
  g_state.real_set_terminate = RealSetTerminate();
  if (g_state.mode == Mode::kLive && g_state.real_set_terminate != nullptr)
    g_progress.previous_terminate = g_state.original_terminate = g_state.real_set_terminate(OnTerminate);
}

void HideTerminateHook() {
  if (g_state.original_terminate != nullptr) g_state.real_set_terminate(g_progress.previous_terminate);
}

void ShowTerminateHook() {
  if (g_state.original_terminate != nullptr) g_state.real_set_terminate(OnTerminate);
}

// Called by the assembly below; gives it the function to go on with. `registers` in DWARF's order.
extern "C" __attribute__((used)) ThrowFunction RecrashNoteThrow(void* object, void* type, void*,
                                                                const uint64_t* registers) {
  ThrowFunction real = RealThrow();
  if (g_state.mode == Mode::kIdle) return real;
  const int saved_errno = errno;
  if (ThreadBlock* block = CurrentThreadBlock()) {
    abi::ThrowRecord& record = block->thrown;
    if (g_state.mode == Mode::kLive && block->terminating == 0)
      NoteReplaced(*block, reinterpret_cast<uint64_t>(object));
    record.armed = 0;
    record.object = reinterpret_cast<uint64_t>(object);
    memcpy(record.registers, registers, sizeof record.registers);
    CopyText(record.type, TypeName(type));
    record.what[0] = 0;
    if (g_state.mode == Mode::kReplay)
      CopyText(record.what, WhatOf(type, object));  // the test process compares it whatever std::terminate does
    else
      CopyStack(*block);
    record.armed = 1;
  }
  errno = saved_errno;
  return real;
}

}  // namespace recrash::client

// For the replay library: this thread's record, or null.
extern "C" __attribute__((visibility("default"), used)) recrash::abi::ThrowRecord* __recrash_throw_record() {
  recrash::client::ThreadBlock* block = recrash::client::ExistingThreadBlock();
  return block != nullptr ? &block->thrown : nullptr;
}

// A catch ends the throw. But std::terminate begins a catch as well, and libstdc++'s handler throws and catches once
// more to print what(); the record is then kept, for it is that of the failure (`terminating`).
extern "C" __attribute__((visibility("default"), weak)) void* __cxa_begin_catch(void* exception) noexcept {
  using namespace recrash::client;
  if (ThreadBlock* block = ExistingThreadBlock()) {
    if (g_state.options.exceptions_main != 0 && g_state.mode == Mode::kLive)
      ReportIfCaughtInMain(*block, exception, __builtin_return_address(0));
    block->thrown.armed = block->terminating;
  }
  BeginCatchFunction real = g_state.real_begin_catch;
  return (real != nullptr ? real : RealBeginCatch())(exception);
}

// The program's std::set_terminate sets the handler behind the client's. std::get_terminate stays: libstdc++ asks it
// for the handler that a throw ends in, which must be the client's.
extern "C" __attribute__((visibility("default"), weak)) recrash::client::TerminateHandler recrash_set_terminate(
    recrash::client::TerminateHandler handler) noexcept __asm__("_ZSt13set_terminatePFvvE");
recrash::client::TerminateHandler recrash_set_terminate(recrash::client::TerminateHandler handler) noexcept {
  using namespace recrash::client;
  if (g_state.mode != Mode::kLive || g_state.original_terminate == nullptr) return RealSetTerminate()(handler);
  return __atomic_exchange_n(&g_progress.previous_terminate, handler, __ATOMIC_ACQ_REL);
}

// void __cxa_throw(void* object, std::type_info* type, void (*destructor)(void*)). It ends in a jump, so that the real
// one finds the stack as the thrower left it, and the unwinder meets no frame of the client's.
RECRASH_WITH_CALLER_REGISTERS(".weak", "__cxa_throw", R"(
  movq %rsp, %rcx
  call RecrashNoteThrow
  movq 8(%rsp), %rdx
  movq 32(%rsp), %rsi
  movq 40(%rsp), %rdi
)" RECRASH_DROP_REGISTERS "jmp *%rax");
