// Frames and their values as a GoogleTest source file that people like to read.
#ifndef RECRASH_TESTGEN_EMIT_EMIT_H_
#define RECRASH_TESTGEN_EMIT_EMIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "recrash/replay.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

struct EmittedTest {
  uint32_t frame = 0;  // Frame::index
  Start start = {};
};

struct EmitOptions {
  std::string report_name = {};          // for the head comment
  std::vector<EmittedTest> tests = {};   // innermost first
  bool verified = false;                 // the frames reproduced from their Starts; false: they are candidates
  std::vector<uint32_t> load_only = {};  // frames whose tests take every pointer from the report: no string literals
  bool opaque_types = false;             // no forward declarations: every class pointer is a recrash::Address
};

// The whole text of crash_test.cc. Nothing from the report reaches it unescaped.
std::string EmitTests(const TestReport& report, const Backtrace& backtrace, const EmitOptions& options);

// The name of a frame's TEST in the suite CrashTest: "Frame0_Tree_insert".
std::string TestName(const Frame& frame);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_EMIT_H_
