#include "testgen/emit/set_lines.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "agent/base/printable_text.h"
#include "testgen/emit/text.h"

namespace recrash {
namespace {

constexpr size_t kLongestPiece = 90;  // of a text that is written over several lines
constexpr std::string_view kIndent = "      ";

std::string NumberSource(const Value& value) {
  const auto number = static_cast<int64_t>(value.number());
  if (!value.is_negative()) return number < 0 ? fmt::format("{}u", value.number()) : fmt::format("{}", number);
  // There are no negative literals, and 9223372036854775808 fits no signed type.
  if (number == std::numeric_limits<int64_t>::min()) return "-9223372036854775807 - 1";
  return fmt::format("{}", number);
}

std::string RealSource(double value) {
  const auto with_point = [](std::string text) {
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  };
  const std::string wide = with_point(fmt::format("{}", value));
  const auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value) return wide;
  const std::string shorter = with_point(fmt::format("{}", narrow)) + "f";
  return shorter.size() < wide.size() ? shorter : wide;
}

// A piece ends behind a line's end, or where the line of the test would be too long.
std::string TextOverLines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t size = text.find('\n');
    size = size == std::string_view::npos ? text.size() : size + 1;
    if (size > kLongestPiece) {
      size = kLongestPiece;
      while (size > 1 && (static_cast<uint8_t>(text[size]) & 0xc0) == 0x80) --size;
    }
    out += fmt::format("\n{}{}", kIndent, CppString(text.substr(0, size)));
    text.remove_prefix(size);
  }
  return out;
}

std::string ItemsOverLines(const std::vector<Value>& items) {
  std::string out = "{", line;
  for (const Value& item : items) {
    const std::string piece = ValueSource(item) + (&item == &items.back() ? "" : ",");
    if (!line.empty() && kIndent.size() + line.size() + 1 + piece.size() > kColumns - 4) {
      out += fmt::format("\n{}{}", kIndent, line);
      line.clear();
    }
    line += (line.empty() ? "" : " ") + piece;
  }
  return out + fmt::format("\n{}{}}}", kIndent, line);
}

std::string SetLine(const Literal& literal) {
  const std::string head = fmt::format("  frame.Set({}, ", CppString(literal.path));
  const std::string line = fmt::format("{}{});\n", head, ValueSource(literal.value));
  if (line.size() <= kColumns + 1) return line;
  if (literal.value.kind() == ValueKind::kText)
    return fmt::format("  frame.Set({},{});\n", CppString(literal.path), TextOverLines(literal.value.text()));
  return literal.value.kind() == ValueKind::kList ? fmt::format("{}{});\n", head, ItemsOverLines(literal.value.items()))
                                                  : line;
}

}  // namespace

std::string ValueSource(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNumber:
      return NumberSource(value);
    case ValueKind::kBool:
      return value.number() ? "true" : "false";
    case ValueKind::kCharacter: {
      const char character = static_cast<char>(value.number());
      return "'" + EscapeText({&character, 1}, '\'') + "'";
    }
    case ValueKind::kReal:
      return RealSource(value.real());
    case ValueKind::kText:
      return CppString(value.text());
    case ValueKind::kList: {
      std::string out;
      for (const Value& item : value.items()) out += (out.empty() ? "" : ", ") + ValueSource(item);
      return "{" + out + "}";
    }
    case ValueKind::kNothing:
      return "std::nullopt";
    case ValueKind::kNull:
      return "nullptr";
    case ValueKind::kAsRecorded:
      break;
  }
  return "recrash::AsRecorded";
}

std::string SetLines(const std::vector<Literal>& literals, uint8_t parameter) {
  std::string out;
  for (const Literal& literal : literals)
    if (literal.parameter == parameter) out += SetLine(literal);
  return out;
}

}  // namespace recrash
