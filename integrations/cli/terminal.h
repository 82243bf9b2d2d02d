// What the command prints: diagnostics to stderr, results to stdout, colour and progress on a terminal only. Nothing
// that came from a report is printed but through PrintableText.
#ifndef RECRASH_INTEGRATIONS_CLI_TERMINAL_H_
#define RECRASH_INTEGRATIONS_CLI_TERMINAL_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "agent/base/result.h"
#include "integrations/terminal/status_line.h"
#include "testgen/suite/observer.h"

namespace recrash::cli {

// Beside what ExitCodeOf says of errors.
enum ExitCode : int { kSuccess = 0, kNothingReproduced = 1 };

// "recrash: error: <first line>", the lines after it indented. Returns the exit code.
int Fail(const Error& error);

// "recrash: <text>" on stderr; lines after the first are indented.
void Note(const std::string& text);

// There is somebody who can be asked: standard input and standard error are a terminal.
bool CanAsk();
// Asks, and takes nothing but a yes for one. REQUIRES: CanAsk().
bool Confirm(const std::string& question);

enum class Colour { kGood, kBad, kDim, kBold };
// `text` in a colour when stdout is a terminal and NO_COLOR is not set.
std::string Coloured(Colour colour, const std::string& text);

std::string SizeText(uint64_t bytes);  // "2.5 MiB"

// What the pipeline says: notes, and one line that is overwritten and gone in the end.
class TerminalObserver : public Observer {
 public:
  void Note(const std::string& text) override;
  bool Ask(const std::string& text) override;
  void Progress(const std::string& what, size_t done, size_t all) override;

 private:
  StatusLine line_{stderr};
};

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_TERMINAL_H_
