#include <stdio.h>
#include <string.h>

#include "testgen/replay/place/place_seen.h"

namespace recrash::replay {
namespace {

void DescribeAccess(const BadAccess& bad, char* text, size_t size) {
  const auto bytes = static_cast<unsigned long long>(bad.size);
  const auto block = static_cast<unsigned long long>(bad.block);
  const auto address = static_cast<unsigned long long>(bad.address);
  switch (bad.kind) {
    case BadAccess::kFreed:
      snprintf(text, size, "a freed heap block of %llu bytes at 0x%llx", bytes, block);
      break;
    case BadAccess::kBehind:
      snprintf(text, size, "memory behind the end of the heap block of %llu bytes at 0x%llx", bytes, block);
      break;
    case BadAccess::kUnused:
      snprintf(text, size, "a part of the heap that is in no block, at 0x%llx", address);
      break;
    case BadAccess::kDeadStack:
      snprintf(text, size, "a local of a function that has returned, at 0x%llx", address);
      break;
    case BadAccess::kReturnAddress:
      snprintf(text, size, "a return address on the stack, at 0x%llx", address);
      break;
    default:
      snprintf(text, size, "memory at 0x%llx", address);
      break;
  }
}

}  // namespace

Verdict JudgePlace(const PlaceSeen& seen, const char* where, Verdict verdict, char* text, size_t size) {
  if (!seen.known) return verdict;
  const auto times = static_cast<unsigned long long>(seen.reached);
  char how[500];
  snprintf(how, sizeof how, "%s", text);
  if (seen.bad.kind != BadAccess::kNone) {
    char what[200];
    DescribeAccess(seen.bad, what, sizeof what);
    const int file = static_cast<int>(strcspn(where, ":"));
    snprintf(text, size, "%s, but %.*s:%u used %s: the bad access did no harm in this build", how, file, where,
             seen.bad.line, what);
    return Verdict::kHarmless;
  }
  if (seen.more) {
    snprintf(text, size, "%s; reached %s more than %llu times, none failed", how, where, times);
  } else if (times == 0) {
    snprintf(text, size, "%s; did not come to %s", how, where);
  } else {
    snprintf(text, size, "%s; reached %s %llu time%s, none failed", how, where, times, times == 1 ? "" : "s");
  }
  return verdict;
}

}  // namespace recrash::replay
