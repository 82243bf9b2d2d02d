// What a person asks for a function, in the source or in a list. What is not asked is left to the defaults.
#ifndef RECRASH_SHADOWSTACK_PASS_SELECTION_WISH_H_
#define RECRASH_SHADOWSTACK_PASS_SELECTION_WISH_H_

#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace recrash::pass {

constexpr int kMaxDepth = 2;

struct Wish {
  std::optional<bool> monitored;  // always, never
  std::optional<int> depth;       // in mode full
  std::string by;                 // who says whether it is monitored: "annotation", "my.list:12"
};

// Returns `first`, completed by `second` where `first` says nothing.
Wish Combined(Wish first, const Wish& second);

// Adds "never", "always" or "depth=N" to `wish`. Returns false if the text is none of these.
bool Understand(llvm::StringRef text, Wish& wish);

constexpr char kWishWords[] = "never, always, depth=0, depth=1 or depth=2";

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SELECTION_WISH_H_
