// Bytes of the dying process as text for people: escaped, bounded, on one line.
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_TEXT_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace recrash {

// Printable ASCII and well-formed UTF-8 as they are, everything else (control characters, the quote, what changes the
// direction or the width of text) as C escapes.
std::string EscapeText(std::string_view bytes, char quote = '"');
std::string HexNumber(uint64_t value);  // "0x1f"

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_TEXT_H_
