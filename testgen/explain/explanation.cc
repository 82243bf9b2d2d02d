#include "testgen/explain/explanation.h"

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

}  // namespace recrash::explain
