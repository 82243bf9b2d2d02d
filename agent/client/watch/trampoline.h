// The code that every stub calls: it saves all registers, calls recrash_on_entry, and restores the registers.
#ifndef RECRASH_AGENT_CLIENT_WATCH_TRAMPOLINE_H_
#define RECRASH_AGENT_CLIENT_WATCH_TRAMPOLINE_H_

#include <stdint.h>

#include "shadowstack/abi.h"

namespace recrash::watch {

// Finds out which registers this processor and kernel have. Required before the first stub runs.
void PrepareTrampoline();

// The stack that this thread was started with; zeros if unknown, and then the trampoline takes what it needs.
struct StackBounds {
  uint64_t low;
  uint64_t high;
};
void SetStackBounds(StackBounds bounds);
RECRASH_SIGNAL_SAFE StackBounds ThreadStackBounds();

using TrampolineCode = void (*)();
TrampolineCode Trampoline();  // not for calling from C++
// It begins with so many pushes of one byte each; behind them it checks that the stack has room for more.
constexpr unsigned kTrampolinePushes = 2;

}  // namespace recrash::watch

#endif  // RECRASH_AGENT_CLIENT_WATCH_TRAMPOLINE_H_
