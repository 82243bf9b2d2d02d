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

namespace recrash {

struct CodePoint {
  uint32_t value = 0;  // the byte itself when it is not valid
  size_t length = 1;   // in bytes
  bool valid = false;
};

// The code point at `at`, which must lie in the text. Strict UTF-8: no overlong form, no surrogate, at most U+10FFFF.
CodePoint DecodeUtf8(std::string_view text, size_t at);

// Does the character move the cursor, turn the direction of what follows (Trojan source), or stay invisible?
bool IsHarmful(uint32_t code_point);

// Returns the text for a terminal or a log: harmful and invalid characters as \n, \x1b, \u202e; all else unchanged.
std::string PrintableText(std::string_view text);

// Returns the text for the inside of quotation marks: the same, and backslashes and the quote escaped as in C.
std::string EscapeText(std::string_view text, char quote = '"');

std::string HexNumber(uint64_t value);  // "0x1f"

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_PRINTABLE_TEXT_H_
