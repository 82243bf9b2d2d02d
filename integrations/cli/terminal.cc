#include "integrations/cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "agent/base/printable_text.h"

namespace recrash::cli {

int Fail(const Error& error) {
  std::fflush(stdout);
  fmt::print(stderr, "recrash: error: {}", PrintableLines(error.message));
  return ExitCodeOf(error.code);
}

void Note(const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "recrash: {}", PrintableLines(text));
}

bool CanAsk() { return isatty(STDIN_FILENO) && isatty(STDERR_FILENO); }

bool Confirm(const std::string& question) {
  fmt::print(stderr, "recrash: {} [y/N] ", question);
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

std::string Coloured(Colour colour, const std::string& text) {
  static const bool enabled = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  if (!enabled) return text;
  constexpr int kCodes[] = {32, 31, 2, 1};
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<int>(colour)], text);
}

std::string SizeText(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

void TerminalObserver::Note(const std::string& text) {
  line_.Clear();
  cli::Note(text);
}

bool TerminalObserver::Ask(const std::string& text) {
  Note(text);
  return CanAsk() && Confirm("run it?");
}

void TerminalObserver::Progress(const std::string& what, size_t done, size_t all) {
  static const bool enabled = isatty(STDERR_FILENO);
  if (enabled) line_.Show(fmt::format("{} {}/{}", what, done, all));
}

}  // namespace recrash::cli
