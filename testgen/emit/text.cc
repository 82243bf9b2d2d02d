#include "testgen/emit/text.h"

#include <fmt/format.h>

#include "agent/base/printable_text.h"

namespace recrash {
namespace {

std::string Shortened(const std::string& text, size_t limit) {
  if (limit == 0 || text.size() <= limit) return text;
  size_t end = limit > 3 ? limit - 3 : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

}  // namespace

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
    const CodePoint c = DecodeUtf8(bytes.data() + i, bytes.size() - i);
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
