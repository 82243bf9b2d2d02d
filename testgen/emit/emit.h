// Writes frames and their values as a GoogleTest source file.
//
//   EmitOptions options;
//   options.tests = {{.frame = 1}};
//   std::string source = EmitTests(report, backtrace, options);
#ifndef RECRASH_TESTGEN_EMIT_EMIT_H_
#define RECRASH_TESTGEN_EMIT_EMIT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/report/report.h"
#include "recrash/replay.h"
#include "testgen/literals/find_literals.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

struct EmittedTest {
  uint32_t frame = 0;  // Frame::index
  Start start = {};
  bool enabled = true;
  std::string doubt =
      {};  // why a fix may not turn it green, one clause; empty: nothing is known that speaks against it
};

struct EmitOptions {
  std::string report_name = {};         // named in the comment at the top
  std::vector<EmittedTest> tests = {};  // in the order of the file
  bool verified = false;                // the frames reproduced from their Starts; else they are candidates
  std::vector<uint32_t> load_only =
      {};                     // frames whose tests have no string literals: every pointer comes from the report
  Literals literals = {};     // of the frames' arguments
  bool opaque_types = false;  // declare no classes: every pointer to a class is a recrash::Address
};

// Returns the whole text of crash_test.cc. Text from the report is always escaped in it.
std::string EmitTests(const TestReport& report, const Backtrace& backtrace, const EmitOptions& options);

// How a disabled test begins; the comment above it says why.
constexpr std::string_view kDisabledReason = "// Disabled: ";
constexpr std::string_view kDisabledPrefix = "DISABLED_";

// The suites of the emitted tests. That of frames whose function the program has inlined everywhere runs in a twin.
constexpr std::string_view kTestSuite = "CrashTest";
constexpr std::string_view kTwinSuite = "CrashTestInTwin";

// Returns the name of a frame's TEST, without the prefix: "Frame0_Tree_insert". Its suite is CrashTest, or
// CrashTestInTwin.
std::string TestName(const Frame& frame);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_EMIT_H_
