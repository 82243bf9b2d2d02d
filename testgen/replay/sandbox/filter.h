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

// `self`: the process that will install it; it may signal itself alone.
void BuildFilter(uint32_t self, Filter* filter);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_SANDBOX_FILTER_H_
