// The system calls that a replayed function may make: an allow-list, as instructions for the kernel.
#ifndef RECRASH_TESTGEN_REPLAY_SANDBOX_FILTER_H_
#define RECRASH_TESTGEN_REPLAY_SANDBOX_FILTER_H_

#include <linux/filter.h>
#include <stdint.h>

namespace recrash::replay {

constexpr int kMostInstructions = 1024;

struct Filter {
  sock_filter instructions[kMostInstructions];
  int size;
};

constexpr int kMostWatched = 32;

// Descriptors of which each read is trapped.
struct WatchedDescriptors {
  uint32_t numbers[kMostWatched];
  int count;
};

// The calls that are trapped for watched descriptors. Their first argument is the descriptor.
bool IsWatchedCall(long number);

// `self`: the process that will install it; it may signal itself alone.
void BuildFilter(uint32_t self, const WatchedDescriptors& watched, Filter* filter);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_SANDBOX_FILTER_H_
