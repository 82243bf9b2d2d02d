// Makes the code that a patched entry runs. A stub counts down, and calls the trampoline while its counter is below
// zero; then it runs the instructions that the patch displaced, and jumps back behind them.
//
//   before   prefix: 0f 0b rcent..      entry: push rbx; mov ebx, edi; …
//   after    prefix: jmp stub           entry: jmp prefix (two bytes); the rest as it was
//            stub:   dec counter; jns 1f; call trampoline; 1: push rbx; mov ebx, edi; jmp entry+3
//
// So an entry that is only counted costs 4 ns; one through the trampoline costs 300 to 600. The stub may change the
// flags: the ABI gives them to the callee.
//
// Pure: it reads the function and fills a Stub. text_writer.h and patcher.h write into the program.
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

// What a stub counts down, in writable memory beside it. It is not atomic: threads that meet there lose a count.
using EntryCounter = int32_t;

// A stub in executable memory. The trampoline finds `entry` from its return address, behind `call`.
struct Stub {
  uint64_t entry;    // as the symbol table has it
  uint8_t count[8];  // dec dword ptr [counter]; jns code
  uint8_t call[6];
  uint8_t code[kStubCodeSize];
  uint8_t skipped;    // bytes of the entry before the displaced ones: an endbr64
  uint8_t displaced;  // bytes of the entry that `code` replaces
  uint8_t copied;     // the first of these, which `code` holds unchanged
  uint8_t several;    // several instructions are displaced: patch only while no thread can stand between them
  uint8_t padding[6];
};
static_assert(sizeof(Stub) == 64 && offsetof(Stub, call) == 16 && offsetof(Stub, code) == 22,
              "trampoline.cc goes from its return address to Stub::entry");

// The function to patch, in place: `entry` has its prefix before it.
struct Function {
  const uint8_t* entry;
  size_t size;         // up to the next function; at least what is displaced
  bool other_threads;  // may run meanwhile
};

// Fills `stub`, in its place. It counts in `counter`, and calls the pointer in `slot`.
Refusal MakeStub(const Function& function, const void* slot, const EntryCounter* counter, Stub* stub);

constexpr size_t kJumpSize = 5;
constexpr size_t kShortJumpSize = 2;
// The jump to the stub, which lies in the prefix. Returns false if it does not reach.
bool PrefixJump(const Stub& stub, uint8_t (&out)[kJumpSize]);
// What lies at the entry: the jump to the prefix, or the bytes as they were compiled.
void EntryCode(const Stub& stub, bool patched, uint8_t (&out)[kShortJumpSize]);

// Translates a pc in the stub to the place in the compiled function.
uint64_t CompiledAddress(const Stub& stub, uint64_t pc);

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_STUB_H_
