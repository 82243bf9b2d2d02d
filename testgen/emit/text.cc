#include "testgen/emit/text.h"

#include <fmt/format.h>

#include <cstdint>

namespace recrash {
namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t length = 1;
  bool valid = false;
};

// Strict UTF-8: no overlong form, no surrogate, nothing beyond U+10FFFF.
CodePoint Decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> uint32_t { return static_cast<unsigned char>(text[i]); };
  const uint32_t lead = byte(at);
  if (lead < 0x80) return {lead, 1, true};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return {lead, 1, false};
  uint32_t value = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return {lead, 1, false};
    value = value << 6 | (byte(at + i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kSmallest[length] || surrogate || value > 0x10ffff) return {lead, 1, false};
  return {value, length, true};
}

// Characters that move the cursor, turn the direction of what follows (Trojan source), or are not seen at all.
bool IsHarmful(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff0 && c <= 0xfffb) || (c & 0xfffe) == 0xfffe || (c >= 0xe0000 && c <= 0xe0fff);
}

std::string Named(const CodePoint& c) {
  if (!c.valid) return fmt::format("\\x{:02x}", c.value);
  switch (c.value) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
  }
  return c.value < 0x80 ? fmt::format("\\x{:02x}", c.value) : fmt::format("\\u{:04x}", c.value);
}

std::string Shortened(const std::string& text, size_t limit) {
  if (limit == 0 || text.size() <= limit) return text;
  size_t end = limit > 3 ? limit - 3 : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

std::string PrintableText(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = Decode(text, i);
    if (c.valid && !IsHarmful(c.value)) {
      out.append(text.substr(i, c.length));
    } else {
      out += Named(c);
    }
    i += c.length;
  }
  return out;
}

std::string CommentText(std::string_view text, size_t limit) {
  const std::string printable = Shortened(PrintableText(text), limit);
  std::string out;
  for (char c : printable) {
    // `*/`, `/*` and `//` end or begin comments; `??/` is a backslash to a compiler that knows trigraphs.
    if (!out.empty() &&
        ((out.back() == '*' && c == '/') || (out.back() == '/' && c == '*') || (out.back() == '?' && c == '?')))
      out += ' ';
    out += c;
  }
  // A backslash at the end would draw the next line into the comment; some compilers skip blanks after it.
  while (!out.empty() && out.back() == ' ') out.pop_back();
  if (!out.empty() && out.back() == '\\') out += '.';
  return out;
}

std::string CppString(std::string_view bytes) {
  std::string out = "\"";
  for (size_t i = 0; i < bytes.size();) {
    const CodePoint c = Decode(bytes, i);
    if (c.valid && c.value == '"') {
      out += "\\\"";
    } else if (c.valid && c.value == '\\') {
      out += "\\\\";
    } else if (c.valid && c.value == '?' && i > 0 && bytes[i - 1] == '?') {
      out += "\\?";
    } else if (c.valid && c.value == '\n') {
      out += "\\n";
    } else if (c.valid && c.value == '\t') {
      out += "\\t";
    } else if (c.valid && !IsHarmful(c.value)) {
      out.append(bytes.substr(i, c.length));
    } else {
      // Three octal digits end an escape; a hexadecimal one would run on into the digits that follow.
      for (size_t j = i; j < i + c.length; ++j) out += fmt::format("\\{:03o}", static_cast<unsigned char>(bytes[j]));
    }
    i += c.length;
  }
  return out + "\"";
}

}  // namespace recrash
