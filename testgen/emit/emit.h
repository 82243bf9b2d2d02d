// Frames and their values as a GoogleTest source file that people like to read.
#ifndef RECRASH_TESTGEN_EMIT_EMIT_H_
#define RECRASH_TESTGEN_EMIT_EMIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

struct EmitOptions {
  std::string report_name = {};            // for the head comment
  std::vector<uint32_t> frames = {};       // Frame::index of those that get a TEST, innermost first
  std::vector<uint8_t> depths = {};        // beside `frames`
  std::vector<uint8_t> rewound = {};       // beside `frames`: 1 where the streams have to be rewound
  std::vector<uint8_t> needs_files = {};   // beside `frames`: 1 where files that the report does not hold were needed
  std::vector<uint8_t> entry_states = {};  // beside `frames`: 1 where memory has to be as at the frame's entry
  std::vector<uint32_t> load_only = {};    // of `frames`: no string literals, every pointer comes from the report
  bool opaque_types = false;               // no forward declarations: every class pointer is a recrash::Address
};

// The whole text of crash_test.cc. Nothing from the report reaches it unescaped.
std::string EmitTests(const Report& report, const Backtrace& backtrace, const EmitOptions& options);

// The name of a frame's TEST in the suite CrashTest: "Frame0_Tree_insert".
std::string TestName(const Frame& frame);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_EMIT_H_
