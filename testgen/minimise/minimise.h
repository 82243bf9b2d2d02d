// What matters in a crash: the least part of the memory that a frame was given with which its call fails the same, by
// experiment. All else may be anything.
//
//   const Result<Minimised> minimised = Minimise(report, 0, options);
//   for (const WhatMatters& item : minimised->items) fmt::print("{} = {}\n", item.path, item.value);
#ifndef RECRASH_TESTGEN_MINIMISE_MINIMISE_H_
#define RECRASH_TESTGEN_MINIMISE_MINIMISE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/minimise/given_memory.h"
#include "testgen/verify/verify.h"

namespace recrash {

struct MinimiseOptions {
  VerifyOptions verify;
  uint64_t seed = 1;    // of the random fill
  double seconds = 10;  // after which it ends, and says so
};

enum class Role : uint8_t {
  kNotTried,  // the time was up
  kContext,   // with something else there, and all else as it was, the call fails in another way, or still the same
  kCulprit,   // with something else there, and all else as it was, the call returns
};

// A word, or those of its bytes that matter.
struct WhatMatters {
  PartKind kind = PartKind::kBlock;  // where it lies
  uint64_t part_start = 0, part_size = 0;
  TargetAddress address;       // of the word; not of a register
  std::vector<uint8_t> bytes;  // of the word, as the call found it; empty: not known
  uint8_t mask = 0xff;         // which of its bytes matter
  Role role = Role::kNotTried;
  std::string returns_with;  // of a culprit: what stood there when the call returned: "zeros"
  std::string path;          // "order.lines_[2].code", "rdi", "block of 48 bytes at 0x7f10, offset 16"
  std::string value;         // as text
  bool is_number = false;    // of an arithmetic type: no address
};

struct Minimised {
  uint32_t frame = 0;  // ReplayFrame::index
  std::string function;
  std::vector<WhatMatters> items;          // what is nearest to the call comes first
  uint64_t given_parts = 0;                // blocks, globals, registers and parts of the stack that the frame was given
  uint64_t touched_parts = 0;              // of these, those that its replay could touch
  uint64_t parts = 0;                      // in which the items lie
  uint64_t bytes = 0;                      // that matter
  uint64_t fixed_bytes = 0;                // that the replay may touch, of no known kind: they stayed as they were
  uint32_t fills = 0, agreeing_fills = 0;  // that the search had not seen, and those of them that confirm its result
  uint64_t trials = 0;
  double seconds = 0;
  std::string limits;              // empty: the result is minimal. Else why it may not be
  std::vector<std::string> notes;  // one sentence each
};

// The innermost frame of the program's own sources or, if there is none, the innermost: its ReplayFrame::index.
// REQUIRES: there is a frame.
uint32_t FrameToMinimise(const TestReport& report);

// `frame`: ReplayFrame::index. Its Start has to be one from which it reproduces. REQUIRES: the program is the build
// that crashed. kMissing: there is no such frame, or it does not reproduce.
Result<Minimised> Minimise(const TestReport& report, uint32_t frame, const MinimiseOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_MINIMISE_MINIMISE_H_
