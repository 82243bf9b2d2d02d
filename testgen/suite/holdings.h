// What a report holds that may be private, for people who pass it on, and the report without some of it.
//
//   const std::vector<HeldText> texts = TextsIn(report);
//   const Redacted redacted = Redact({.environment = true}, &report);
#ifndef RECRASH_TESTGEN_SUITE_HOLDINGS_H_
#define RECRASH_TESTGEN_SUITE_HOLDINGS_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/suite/frame_choice.h"

namespace recrash {

struct HeldText {
  TargetAddress address;
  std::string text;
};

// Runs of at least six printable characters in the memory of the crash, ascending.
std::vector<HeldText> TextsIn(const Report& report);

// NAME=value, in order.
std::vector<std::string> EnvironmentIn(const Report& report);

// What is to be taken out. Pages that hold nothing else are withheld: a replay finds nothing there. In other pages, and
// on the stack where calls still go, stars stand in its place.
struct Redaction {
  bool environment = false;        // the block at the top of the stack
  bool files = false;              // contents of inputs; their names stay
  bool logs = false;               // the texts of logs and standard error; their names stay
  bool notes = false;              // of the program
  std::vector<std::string> texts;  // each text that has one of these in it; names of files and folders stay
  // Of frames: memory, registers, arguments, and the tests of them. Words that lead to frames outside stay: addresses
  // of code, and of the stack. Pages of frames that have none outside are withheld.
  std::vector<StackPart> frames = {};
};

struct Redacted {
  size_t variables = 0;
  size_t files = 0;
  size_t logs = 0;
  size_t notes = 0;
  size_t texts = 0;
  size_t parts = 0;  // of the stack
  size_t tests = 0;
  uint64_t withheld = 0;  // bytes
};

Redacted Redact(const Redaction& redaction, TestReport* report);

// Something was taken out of it: what lies beside it, such as a minidump, may still have that.
bool IsRedacted(const Report& report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_HOLDINGS_H_
