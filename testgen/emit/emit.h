// Frames and their values as a GoogleTest source file that people like to read.
#ifndef RECRASH_TESTGEN_EMIT_EMIT_H_
#define RECRASH_TESTGEN_EMIT_EMIT_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

struct EmitOptions {
  std::string report_name;           // for the head comment
  std::vector<uint32_t> frames;      // Frame::index of those that get a TEST, innermost first
  std::vector<uint8_t> depths;       // beside `frames`
};

// The whole text of crash_test.cc. Nothing from the report reaches it unescaped.
std::string EmitTests(const Report& report, const Backtrace& backtrace, const EmitOptions& options);

// A C++ string literal for any bytes; text for a comment on one line (no newline, no backslash at its end, no trigraph,
// no bidirectional control characters).
std::string CppString(const std::string& bytes);
std::string CommentText(const std::string& text);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_EMIT_H_
