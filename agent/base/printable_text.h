// Text from a report or another process, made safe to show. It comes from a machine that we do not know: names in it
// may hold line ends, escape sequences of terminals, and characters that turn the reading direction.
//
//   fmt::print("program  {}\n", PrintableText(process.program));
#ifndef RECRASH_AGENT_BASE_PRINTABLE_TEXT_H_
#define RECRASH_AGENT_BASE_PRINTABLE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/base/signal_safe/printable.h"

namespace recrash {

// Returns the text for a terminal or a log: harmful and invalid characters as \n, \x1b, \u202e; all else unchanged.
std::string PrintableText(std::string_view text);

// Returns a message of several lines for a terminal: each line made printable by itself and ended, all but the first
// indented, so that no line end in a name makes a line that looks like ours.
std::string PrintableLines(std::string_view text);

// Returns the text for the inside of quotation marks: the same, and backslashes and the quote escaped as in C.
std::string EscapeText(std::string_view text, char quote = '"');

std::string HexNumber(uint64_t value);  // "0x1f"

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_PRINTABLE_TEXT_H_
