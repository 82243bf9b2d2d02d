// Whether what makes a frame fail was there before an outer frame began.
//
// The inner frame is called where the outer one begins: with its own arguments, in the memory of the outer frame's
// entry. If it fails there as recorded, the outer frame has made nothing in memory that matters. What is left are the
// arguments that the outer frame has chosen: those that it was not handed itself are changed, and the call is made once
// more.
//
//   const Result<std::vector<AlreadyThere>> found = FindAlreadyThere(&report, pointers, options);
//   for (const AlreadyThere& one : *found) fmt::print("{} began with what makes {} fail\n", one.outer, one.inner);
#ifndef RECRASH_TESTGEN_DISCERN_ALREADY_THERE_H_
#define RECRASH_TESTGEN_DISCERN_ALREADY_THERE_H_

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/verify/verify.h"

namespace recrash {

struct AlreadyThere {
  uint32_t outer = 0;
  uint32_t inner = 0;
};

// Which parameters of a frame are addresses, by DWARF's numbers.
using Pointers = std::map<uint32_t, std::set<uint8_t>>;

// Asks of each frame of the report that starts from an exact entry state. Each such frame is named once at most, with
// the innermost frame that was seen to fail there. Of main nothing is asked: before it begins, variables are null, and
// most functions would fail on that.
// REQUIRES: all frames reproduce from their Starts, and options.program is the build that crashed.
// The report is the same afterwards: meanwhile it has the frames that are called, since a copy would be one of all
// memory.
Result<std::vector<AlreadyThere>> FindAlreadyThere(TestReport* report, const Pointers& pointers,
                                                   const VerifyOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DISCERN_ALREADY_THERE_H_
