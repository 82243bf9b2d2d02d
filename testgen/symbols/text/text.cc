#include "testgen/symbols/text/text.h"

#include <cstdio>

namespace recrash {
namespace {

// The length of the well-formed UTF-8 sequence at the start, its code point in `code`; 0 when there is none.
size_t Utf8Length(std::string_view bytes, uint32_t& code) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || bytes.size() < length) return 0;
  code = first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<uint8_t>(bytes[i]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[length] || code > 0x10ffff || surrogate ? 0 : length;
}

// Latin and its neighbours, the Asian scripts; not the blocks of controls, of format characters, of private use.
bool IsHarmless(uint32_t code) {
  if (code < 0xa1 || code == 0xad) return false;
  if (code >= 0x600 && code < 0x900) return false;    // right to left
  if (code >= 0x590 && code < 0x600) return false;    // Hebrew: the same
  if (code >= 0x2000 && code < 0x2070) return false;  // spaces, joiners, direction marks
  return code < 0xd800 || (code >= 0xf900 && code < 0xfb00);
}

void AppendEscaped(std::string& text, uint8_t byte) {
  switch (byte) {
    case '\n':
      text += "\\n";
      return;
    case '\t':
      text += "\\t";
      return;
    case '\r':
      text += "\\r";
      return;
    case 0:
      text += "\\0";
      return;
    default: {
      char escape[8];
      snprintf(escape, sizeof(escape), "\\x%02x", byte);
      text += escape;
    }
  }
}

}  // namespace

std::string EscapeText(std::string_view bytes, char quote) {
  std::string text;
  for (size_t i = 0; i < bytes.size();) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    uint32_t code = 0;
    const size_t length = byte >= 0x80 ? Utf8Length(bytes.substr(i), code) : 1;
    if (byte >= 0x80 && length > 0 && IsHarmless(code)) {
      text += bytes.substr(i, length);
      i += length;
      continue;
    }
    ++i;
    if (byte == '\\' || bytes[i - 1] == quote)
      text += {'\\', bytes[i - 1]};
    else if (byte >= 0x20 && byte < 0x7f)
      text += bytes[i - 1];
    else
      AppendEscaped(text, byte);
  }
  return text;
}

std::string HexNumber(uint64_t value) {
  char text[32];
  snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace recrash
