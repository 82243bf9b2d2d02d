// What failed and where, in one line: the words that the command, the generated file and --json share.
#ifndef RECRASH_TESTGEN_EMIT_FAILURE_TEXT_H_
#define RECRASH_TESTGEN_EMIT_FAILURE_TEXT_H_

#include <string>

#include "agent/report/report.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

// "ns::Tree<int>::insert(int) const" as "ns::Tree::insert": no parameters, no template arguments, no unnamed namespace.
std::string PlainFunction(const std::string& demangled);
// "(anonymous namespace)::A {b_ = 1}" as "A {b_ = 1}": for text that people read.
std::string WithoutUnnamedNamespaces(std::string text);
// The last part of it: "insert".
std::string ShortFunction(const std::string& demangled);

// "SIGSEGV", "SIGABRT (free(): double free detected in tcache 2)", "uncaught std::bad_cast (std::bad_cast)",
// "RECRASH_REPORT (queue is full)". Raw text of the report: escape it for where it goes.
std::string FailureKindText(const Failure& failure);

// In the program's own code, and not the C++ library's that was compiled into it.
bool IsUsersCode(const Frame& frame);

// The innermost frame of the user's code; of the program's; of all; null without frames.
const Frame* FailingFrame(const Backtrace& backtrace);

// "SIGSEGV in FormatName at greeter.cc:41".
std::string FailureText(const Report& report, const Backtrace& backtrace);
// Without symbols: "SIGSEGV in libfoo.so+0x1234".
std::string FailureText(const Report& report);

std::string TimeText(int64_t unix_nanoseconds);  // "2026-11-18 10:54:01 UTC"

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_FAILURE_TEXT_H_
