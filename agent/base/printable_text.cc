#include "agent/base/printable_text.h"

#include <cstdio>

namespace recrash {
namespace {

std::string Formatted(const char* format, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, format, static_cast<unsigned long long>(value));
  return text;
}

std::string Named(const CodePoint& c) {
  if (!c.valid) return Formatted("\\x%02llx", c.value);
  constexpr std::string_view kControls("\n\t\r\0", 4);
  const size_t known = c.value < 0x80 ? kControls.find(static_cast<char>(c.value)) : kControls.npos;
  if (known != kControls.npos) return {'\\', "ntr0"[known]};
  return Formatted(c.value < 0x80 ? "\\x%02llx" : "\\u%04llx", c.value);
}

// `quote` is NUL where the text stands in no quotation marks.
std::string Escaped(std::string_view text, char quote) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text, i);
    if (quote != 0 && (text[i] == quote || text[i] == '\\')) out += '\\';
    if (c.valid && !IsHarmful(c.value))
      out += text.substr(i, c.length);
    else
      out += Named(c);
    i += c.length;
  }
  return out;
}

}  // namespace

CodePoint DecodeUtf8(std::string_view text, size_t at) {
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

bool IsHarmful(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
         (c >= 0xfff0 && c <= 0xfffb) || (c & 0xfffe) == 0xfffe || (c >= 0xe0000 && c <= 0xe0fff);
}

std::string PrintableText(std::string_view text) { return Escaped(text, 0); }

std::string EscapeText(std::string_view text, char quote) { return Escaped(text, quote); }

std::string HexNumber(uint64_t value) { return Formatted("0x%llx", value); }

}  // namespace recrash
