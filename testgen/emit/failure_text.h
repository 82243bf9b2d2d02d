// Says in one line what failed and where. The command, the generated file and --json use the same words.
#ifndef RECRASH_TESTGEN_EMIT_FAILURE_TEXT_H_
#define RECRASH_TESTGEN_EMIT_FAILURE_TEXT_H_

#include <string>

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"
#include "testgen/symbols/dwarf/plain_function.h"

namespace recrash {

// The last part of PlainFunction: "insert".
std::string ShortFunction(const std::string& demangled);

// "SIGSEGV", "SIGABRT (free(): double free detected in tcache 2)", "uncaught std::bad_cast (std::bad_cast)",
// "RECRASH_REPORT (queue is full)". The text of the report is not escaped: the caller does that for the place where it
// goes.
std::string FailureKindText(const Failure& failure);

// True if the frame is in the program's own code. False for code of the C++ library, even if it was compiled into the
// program.
bool IsUsersCode(const Frame& frame);

// Returns the innermost frame of the user's code; if there is none, that of the program; else frame 0. Null if there
// are no frames.
const Frame* FailingFrame(const Backtrace& backtrace);

// "SIGSEGV in FormatName at greeter.cc:41".
std::string FailureText(const Report& report, const Backtrace& backtrace);
// Without symbols: "SIGSEGV in libfoo.so+0x1234".
std::string FailureText(const Report& report);

std::string TimeText(int64_t unix_nanoseconds);  // "2026-11-18 10:54:01 UTC"

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_FAILURE_TEXT_H_
