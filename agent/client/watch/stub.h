// The code that a patched entry runs: it counts down, and calls the trampoline once it is below zero; then come the
// instructions that the patch displaced, then a jump back behind them.
//
//   before   prefix: 0f 0b rcent..      entry: push rbx; mov ebx, edi; …
//   after    prefix: jmp stub           entry: jmp prefix (two bytes); the rest as it was
//            stub:   dec counter; jns 1f; call trampoline; 1: push rbx; mov ebx, edi; jmp entry+3
//
// So a function that is entered too often costs 4 ns an entry until its counter is through, not the trampoline's 300 to
// 600, and is counted all the same. Flags hold nothing at a function's entry: the ABI gives them to the callee.
//
// Pure: it reads the function and fills a Stub; who writes which memory is text_writer.h's and patcher.h's.
#ifndef RECRASH_AGENT_CLIENT_WATCH_STUB_H_
#define RECRASH_AGENT_CLIENT_WATCH_STUB_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash::watch {

// Why an entry stays as it is.
enum class Refusal : uint8_t {
  kNone,
  kNoEntry,             // no function of the module begins there
  kNoPrefix,            // it was not compiled in a second-chance mode
  kUnknownInstruction,  // DecodeInstruction does not know it
  kLeavesAtOnce,        // its first instruction jumps, calls or returns
  kBranchInside,        // a branch of its own leads between the displaced instructions
  kTooFar,              // a displacement does not reach from the stub
  kOtherThreads,        // one may stand between the displaced instructions
  kNoFile,              // the module's file is not there any more
  kNoMemory,            // no room for stubs near the module
  kForbidden,           // the system does not let code be changed
  kCount,
};

// "its first instruction jumps away": for messages.
const char* RefusalText(Refusal refusal);

constexpr size_t kStubCodeSize = 32;

// What a stub counts down, in writable memory beside it. Without atomics: threads that meet there lose a count.
using EntryCounter = int32_t;

// One in executable memory. `call` comes directly behind `entry`, which is how the trampoline finds it.
struct Stub {
  uint64_t entry;    // as the symbol table has it
  uint8_t count[8];  // dec dword ptr [counter]; jns code
  uint8_t call[6];
  uint8_t code[kStubCodeSize];
  uint8_t skipped;    // bytes of the entry before what is displaced: an endbr64
  uint8_t displaced;  // bytes of the entry that `code` stands for
  uint8_t copied;     // of these, the first that it holds as they were
  uint8_t several;    // displaced instructions: may only be patched while no thread can stand between them
  uint8_t padding[6];
};
static_assert(sizeof(Stub) == 64 && offsetof(Stub, call) == 16 && offsetof(Stub, code) == 22,
              "trampoline.cc goes from its return address to Stub::entry");

// The function that is to be patched: its bytes where they are, from the prefix to its end.
struct Function {
  const uint8_t* entry;
  size_t size;         // up to the next function; at least what is displaced
  bool other_threads;  // may run meanwhile
};

// Where a stub will lie, and what it refers to.
struct StubPlace {
  uint64_t stub;
  uint64_t slot;     // of the pointer that it calls through
  uint64_t counter;  // an EntryCounter
};

// Fills `stub`, which will lie at `place`.
Refusal MakeStub(const Function& function, const StubPlace& place, Stub* stub);

// The bytes from the prefix to the entry's first two instructions' bytes that change, for a made stub.
constexpr size_t kJumpSize = 5;       // in the prefix
constexpr size_t kShortJumpSize = 2;  // at the entry
void PrefixJump(const Function& function, uint64_t stub_address, uint8_t (&out)[kJumpSize]);
void EntryJump(const Stub& stub, uint8_t (&out)[kShortJumpSize]);

// Where in the function as it was compiled a thread stands whose pc is in the stub.
uint64_t CompiledAddress(const Stub& stub, uint64_t pc);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_STUB_H_
