// Between a patched entry and what records there: the trampoline (trampoline.cc) saves the whole register state and
// calls recrash_on_entry before the function's first instruction has run.
//
// Global and plain C, because the trampoline that fills and calls them is assembly.
#ifndef RECRASH_SHADOWSTACK_ENTRY_HOOK_H_
#define RECRASH_SHADOWSTACK_ENTRY_HOOK_H_

#include <stddef.h>
#include <stdint.h>

// What the trampoline saved: the raw argument registers at a function's entry.
struct EntryRegisters {
  uint64_t integer[6];  // rdi rsi rdx rcx r8 r9
  unsigned char vector[8][16];
  uint64_t entry;  // the function's first instruction, as the symbol table has it
  uint64_t sp;     // there: it points to the return address
};

static_assert(offsetof(EntryRegisters, vector) == 48 && offsetof(EntryRegisters, entry) == 176 &&
                  sizeof(EntryRegisters) == 192,
              "the trampoline writes it by these offsets");

// Runs on the program's stack at a patched entry, in any thread, whenever the entry's counter (Stub::count) is below
// zero: at every entry, until the counter is set. `counter` is null if the entry has none. The trampoline has saved all
// registers, vector and x87 state included, and restores them. This function must leave all other state of the program
// as it was.
extern "C" void recrash_on_entry(const EntryRegisters* at, int32_t* counter);

#endif  // RECRASH_SHADOWSTACK_ENTRY_HOOK_H_
