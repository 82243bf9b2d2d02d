#include "integrations/pages/markup.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "agent/base/printable_text.h"
#include "agent/base/sha256.h"

namespace recrash::pages {
namespace {

constexpr size_t kTabWidth = 4;

std::string Base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t at) { return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0u; };
    const uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (size_t digit = 0; digit < 4; ++digit)
      text += i + digit <= bytes.size() ? kDigits[three >> (18 - 6 * digit) & 63] : '=';
  }
  return text;
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : PrintableText(text)) switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  return escaped;
}

std::string Shortened(std::string_view text, size_t most) {
  size_t count = 0;
  size_t kept = 0;  // bytes of all but the last character
  for (size_t at = 0; at < text.size(); ++count) {
    if (count + 1 == most) kept = at;
    if (count == most) return std::string(text.substr(0, kept)) + "…";
    at += DecodeUtf8(text.data() + at, text.size() - at).length;
  }
  return std::string(text);
}

std::string WithoutTabs(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string blank;
  for (const char c : line) {
    if (c == '\t')
      blank.append(kTabWidth - blank.size() % kTabWidth, ' ');
    else
      blank += c;
  }
  return blank;
}

std::string ShellWord(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, IsPlain)) return word;
  if (PrintableText(word) != word) return "$'" + EscapeText(word, '\'') + "'";
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string PolicyHash(std::string_view text) {
  Sha256 hash;
  hash.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  const std::string digits = hash.Finish();
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::strtoul(digits.substr(i, 2).c_str(), nullptr, 16));
  return "sha256-" + Base64(bytes);
}

}  // namespace recrash::pages
