// Calls the function of a frame: loads its registers, moves the stack pointer, jumps.
//
//   CallState state = {};
//   ReadControlWords(&state);
//   state.integer[0] = argument;
//   state.function = entry;
//   state.sp = frame.entry_sp + 8;
//   recrash_call(&state);
#ifndef RECRASH_TESTGEN_REPLAY_GUEST_CALL_H_
#define RECRASH_TESTGEN_REPLAY_GUEST_CALL_H_

#include <stddef.h>
#include <stdint.h>

namespace recrash::replay {

struct CallState {
  uint64_t integer[8];    // rdi rsi rdx rcx r8 r9 r10, one unused
  uint8_t vector[8][16];  // xmm0..7
  uint64_t sp;            // before the call instruction: entry_sp + 8
  uint64_t function;
  uint32_t mxcsr;
  uint16_t fcw;
  uint16_t unused;
};
static_assert(offsetof(CallState, vector) == 64 && offsetof(CallState, sp) == 192 &&
              offsetof(CallState, function) == 200 && offsetof(CallState, mxcsr) == 208 &&
              offsetof(CallState, fcw) == 212);

extern "C" {
// Returns when the function returns. The return address of the call lies where the recorded one lay.
// REQUIRES: `state` lies outside the stack below state->sp; nothing that this thread still needs lies there.
void recrash_call(const CallState* state);
// Makes recrash_call return, from inside the call: a signal handler ends a replay in place by it.
[[noreturn]] void recrash_leave_call();
extern const char recrash_call_end[];
}

// Sets mxcsr and fcw to those of this thread, for a report that does not hold them.
void ReadControlWords(CallState* state);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_GUEST_CALL_H_
