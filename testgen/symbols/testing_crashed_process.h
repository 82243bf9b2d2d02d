// For tests: real programs, compiled, run until they crash, and captured into a Report from outside by ptrace.
#ifndef RECRASH_TESTGEN_SYMBOLS_TESTING_CRASHED_PROCESS_H_
#define RECRASH_TESTGEN_SYMBOLS_TESTING_CRASHED_PROCESS_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "agent/report/testing_reports.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

// A folder with a program in it; both are gone when the test ends.
class Fixture {
 public:
  // Compiles `source` with the tests' clang++ and `flags`; the tests end here when it does not compile.
  explicit Fixture(const std::string& source, const std::string& flags = "-O2 -g");

  // Runs the program until it gets a fatal signal, and captures it there. Ends the test when it does not.
  Report Crash(const std::vector<std::string>& arguments = {}) const;

  // The same; the program raises SIGUSR2 before it throws, and its stack at the throw is kept as the agent would.
  Report CrashWithThrow(const std::vector<std::string>& arguments) const;

  void Run(const std::string& command) const;  // in the folder; must succeed
  void Write(const std::string& name, const std::string& text) const;
  std::string path(const std::string& name = "program") const { return folder_ / name; }
  const std::string& folder() const { return folder_.path(); }

 private:
  Report Capture(const std::vector<std::string>& arguments, bool with_throw) const;

  TemporaryDirectory folder_;
};

// Flags for a monitored build: the pass plugin and its options.
std::string Monitored(const std::string& flags, const std::string& mode = "references");

// ReadBacktrace, which must succeed.
Backtrace MustRead(const Report& report, const SymbolOptions& options = {});
Backtrace MustRead(const Report& report, const Symbols& symbols);
// The functions' names without parameter lists, innermost first, up to main; `inlined` ones in brackets.
std::vector<std::string> FunctionNames(const Backtrace& backtrace);
// The frame of the function whose readable name begins with `name`.
const Frame& FrameOf(const Backtrace& backtrace, const std::string& name);
const Parameter& ParameterOf(const Frame& frame, const std::string& name);
// The value of a complete parameter of up to eight bytes.
uint64_t ValueOf(const Parameter& parameter);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TESTING_CRASHED_PROCESS_H_
