// The record: an alloca of the function's own frame that holds its argument words, and its descriptor in the map.
#ifndef RECRASH_SHADOWSTACK_PASS_RECORD_H_
#define RECRASH_SHADOWSTACK_PASS_RECORD_H_

#include <cstdint>

#include "llvm/IR/Function.h"
#include "shadowstack/pass/selection/options.h"
#include "shadowstack/pass/write_effects.h"

namespace recrash::pass {

struct Recorded {
  bool described = false;        // it uses an argument, so there is a descriptor
  bool stores_at_entry = false;  // in its first block
  uint32_t bytes = 0;            // of the frame
};

// `effects` are used in mode full only.
Recorded AddRecord(llvm::Function& function, const Options& options, WriteEffects* effects);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_RECORD_H_
