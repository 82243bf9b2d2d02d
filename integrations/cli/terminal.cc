#include "integrations/cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "agent/base/printable_text.h"

namespace recrash::cli {
namespace {

// Each line made printable by itself: the line ends are ours.
std::string Indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = PrintableText(std::string_view(text).substr(at, end - at));
    if (at > 0) line.insert(0, line.starts_with("  ") ? "" : "  ");
    out += line + '\n';
    at = end + 1;
  }
  return out;
}

}  // namespace

int Fail(const Error& error) {
  std::fflush(stdout);
  fmt::print(stderr, "recrash: error: {}", Indented(error.message));
  return ExitCodeOf(error.code);
}

void Note(const std::string& text) {
  std::fflush(stdout);
  fmt::print(stderr, "recrash: {}", Indented(text));
}

std::string Coloured(Colour colour, const std::string& text) {
  static const bool enabled = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  if (!enabled) return text;
  constexpr int kCodes[] = {32, 31, 2, 1};
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<int>(colour)], text);
}

void TerminalObserver::Note(const std::string& text) {
  Clear();
  cli::Note(text);
}

bool TerminalObserver::Ask(const std::string& text) {
  Note(text);
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return false;
  fmt::print(stderr, "recrash: run it? [y/N] ");
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

void TerminalObserver::Progress(const std::string& what, size_t done, size_t all) {
  static const bool enabled = isatty(STDERR_FILENO);
  if (!enabled) return;
  fmt::print(stderr, "\r\033[K{} {}/{}", what, done, all);
  std::fflush(stderr);
  shown_ = true;
}

void TerminalObserver::Clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace recrash::cli
