// Which tests are enabled, and in which order they stand in the file.
//
// A test turns green if the fix changes code that runs in its call, or what that call has made before it fails. So the
// outermost frame is the best one: all others run inside of it. Frames that began with what makes them fail, and those
// in which no code of the program's is left to be changed, are disabled, for the debugger; so is library code that runs
// inside of another enabled one.
//
//   const std::vector<ChosenTest> tests = ChooseEnabled(facts, already_there);  // the best one first
#ifndef RECRASH_TESTGEN_DISCERN_CHOOSE_ENABLED_H_
#define RECRASH_TESTGEN_DISCERN_CHOOSE_ENABLED_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/discern/already_there.h"

namespace recrash {

// What is known of a frame on the failing stack.
struct FrameFacts {
  uint32_t index = 0;
  bool has_test = false;
  bool is_users = false;                    // code of the program's own, and not of the C++ library
  bool returns = true;                      // false: it is declared never to return
  bool holds_bad_value = false;             // Frame::holds_bad_value
  std::optional<uint64_t> stack_left = {};  // StackLeft
  bool is_called_oddly = false;             // in a way of this build alone: tests are skipped in all others
};

// After a stack overflow: what was left of the stack when the frame was entered, where that is next to nothing. What a
// function does in place of going deeper needs stack as well: of swig, which prints an error then, frames that had 1
// KiB left overflow again after the fix, and those of the recursion's other end do not. printf alone may take 10 KiB.
std::optional<uint64_t> StackLeft(const Report& report, TargetAddress entry_sp);

struct ChosenTest {
  uint32_t frame = 0;
  bool enabled = true;
  std::string doubt =
      {};  // why a fix may not turn it green, one clause; empty: nothing is known that speaks against it
};

// `frames`: of the whole stack, innermost first. Returns those that have a test: first the enabled ones, outermost
// first, then the disabled ones, innermost first. Enabled are those without a doubt; if there are none, the outermost
// one.
std::vector<ChosenTest> ChooseEnabled(std::span<const FrameFacts> frames, std::span<const AlreadyThere> already_there);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_DISCERN_CHOOSE_ENABLED_H_
