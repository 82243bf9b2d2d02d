#include "testgen/explain/explanation.h"

#include <algorithm>
#include <cstdio>

namespace recrash::explain {

const char* LinkText(LinkKind kind) {
  switch (kind) {
    case LinkKind::kFailed:
      return "failed";
    case LinkKind::kCalled:
      return "called";
    case LinkKind::kArgument:
      return "argument";
    case LinkKind::kReturned:
      return "returned";
    case LinkKind::kWritten:
      return "written";
    case LinkKind::kComputed:
      return "computed";
    case LinkKind::kConstant:
      return "constant";
    case LinkKind::kAddress:
      return "address";
    case LinkKind::kDecided:
      return "decided";
    case LinkKind::kAllocated:
      return "allocated";
    case LinkKind::kFreed:
      return "freed";
    case LinkKind::kInput:
      return "input";
    case LinkKind::kLies:
      return "lies";
    case LinkKind::kUninitialised:
      return "uninitialised";
    case LinkKind::kBefore:
      return "before";
    case LinkKind::kLost:
      return "lost";
  }
  return "lost";
}

std::string ClauseOf(const Link& link) {
  return link.text + (link.undone.value_or(false) ? " (undone, the failure goes)" : "");
}

std::string ReplayedText(const Explanation& explanation) {
  char seconds[32];
  snprintf(seconds, sizeof seconds, "%.1f", explanation.seconds);
  return "replayed " + std::to_string(explanation.replays) + " times from " +
         (explanation.is_exact ? "the entry" : "a call, in the memory of the crash,") + " of " + explanation.began +
         ", in " + seconds + " s" + (explanation.is_cut_short ? "; then the time was over (--seconds)" : "");
}

bool IsCutOff(const Explanation& explanation) {
  return !explanation.is_exact && std::ranges::any_of(explanation.links, [](const Link& link) {
    return link.kind == LinkKind::kBefore && link.depth == 0;
  });
}

}  // namespace recrash::explain
