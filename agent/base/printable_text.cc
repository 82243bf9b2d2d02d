#include "agent/base/printable_text.h"

#include <algorithm>
#include <cstdio>

namespace recrash {
namespace {

// `quote` is NUL where the text stands in no quotation marks.
std::string Escaped(std::string_view text, char quote) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (quote != 0 && (text[i] == quote || text[i] == '\\')) out += '\\';
    const ShownCharacter shown = Show(text.data() + i, text.size() - i);
    out.append(shown.text, shown.length);
    i += shown.taken;
  }
  return out;
}

}  // namespace

std::string PrintableText(std::string_view text) { return Escaped(text, 0); }

std::string PrintableLines(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = PrintableText(text.substr(at, end - at));
    if (at > 0 && !line.starts_with("  ")) out += "  ";
    out += line + '\n';
    at = end + 1;
  }
  return out;
}

std::string EscapeText(std::string_view text, char quote) { return Escaped(text, quote); }

std::string HexNumber(uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace recrash
