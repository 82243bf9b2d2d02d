// Which values a failing instruction used as an address.
//
//   for (const UsedPointer& used : UsedPointers(report, objects)) ...
#ifndef RECRASH_TESTGEN_FLIPS_USED_POINTERS_H_
#define RECRASH_TESTGEN_FLIPS_USED_POINTERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/flips/live_objects.h"

namespace recrash {

constexpr char kMemory[] = "memory";

struct UsedPointer {
  uint64_t value = 0;
  uint64_t access = 0;  // the address of the access that failed; of code: the value
  bool is_function = false;
  std::string place;  // "rdi"; kMemory if no register has it
};

// Those that lead nowhere; none if it failed otherwise than by such an access. Of an instruction that is not understood
// (string instructions, wide vectors) all registers count that may be its address.
std::vector<UsedPointer> UsedPointers(const Report& report, const LiveObjects& objects);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_FLIPS_USED_POINTERS_H_
