#include "shadowstack/pass/selection/wish.h"

namespace recrash::pass {

Wish Combined(Wish first, const Wish& second) {
  if (!first.monitored) {
    first.monitored = second.monitored;
    first.by = second.by;
  }
  if (!first.depth) first.depth = second.depth;
  return first;
}

bool Understand(llvm::StringRef text, Wish& wish) {
  int depth = 0;
  if (text == "never") {
    wish.monitored = false;
  } else if (text == "always") {
    wish.monitored = true;
  } else if (text.consume_front("depth=") && !text.getAsInteger(10, depth) && depth >= 0 && depth <= kMaxDepth) {
    wish.depth = depth;
  } else {
    return false;
  }
  return true;
}

}  // namespace recrash::pass
