#include "testgen/emit/literal.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "testgen/emit/failure_text.h"
#include "testgen/emit/names.h"
#include "testgen/emit/spelling.h"

namespace recrash {
namespace {

constexpr size_t kMostEnumerators = 12;

uint64_t LowWord(const std::vector<uint8_t>& bytes, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min<size_t>(size, sizeof value));
  return value;
}

int64_t SignExtended(uint64_t value, size_t size) {
  if (size >= 8) return static_cast<int64_t>(value);
  const unsigned shift = 64 - 8 * static_cast<unsigned>(size);
  return static_cast<int64_t>(value << shift) >> shift;
}

std::string SignedText(int64_t value) {
  // There are no negative literals, and 9223372036854775808 fits no signed type.
  if (value == std::numeric_limits<int64_t>::min()) return "-9223372036854775807 - 1";
  return std::to_string(value);
}

std::string UnsignedText(uint64_t value) {
  return value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) ? fmt::format("{}u", value)
                                                                            : std::to_string(value);
}

std::optional<std::string> WideLiteral(bool is_signed, const std::vector<uint8_t>& bytes) {
  uint64_t high = 0;
  std::memcpy(&high, bytes.data() + 8, sizeof high);
  const uint64_t low = LowWord(bytes, 8);
  if (!is_signed && high == 0) return UnsignedText(low);
  const bool negative = static_cast<int64_t>(low) < 0;
  if (is_signed && high == (negative ? ~uint64_t{0} : 0)) return SignedText(static_cast<int64_t>(low));
  return std::nullopt;
}

std::string CharacterLiteral(uint64_t value) {
  switch (value) {
    case '\n':
      return "'\\n'";
    case '\t':
      return "'\\t'";
    case '\0':
      return "'\\0'";
    case '\'':
      return "'\\''";
    case '\\':
      return "'\\\\'";
  }
  if (value >= 0x20 && value < 0x7f) return fmt::format("'{}'", static_cast<char>(value));
  return fmt::format("'\\x{:02x}'", value);
}

std::optional<std::string> FloatLiteral(size_t size, const std::vector<uint8_t>& bytes) {
  const auto text = [](double value, std::string shortest) -> std::optional<std::string> {
    if (!std::isfinite(value)) return std::nullopt;
    if (shortest.find_first_of(".e") == std::string::npos) shortest += ".0";
    return shortest;
  };
  if (size == 4) {
    float value;
    std::memcpy(&value, bytes.data(), sizeof value);
    const auto literal = text(value, fmt::format("{}", value));
    return literal ? std::optional(*literal + "f") : std::nullopt;
  }
  if (size != 8) return std::nullopt;
  double value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return text(value, fmt::format("{}", value));
}

}  // namespace

std::optional<std::string> ScalarLiteral(const Type& type, const std::vector<uint8_t>& bytes) {
  const auto spelling = SpellScalar(type);
  if (!spelling || bytes.size() < type.size || type.size == 0) return std::nullopt;
  const uint64_t word = LowWord(bytes, type.size);
  switch (type.kind) {
    case TypeKind::kBool:
      // A bool that is neither can be the very bug.
      if (type.size != 1 || word > 1) return std::nullopt;
      return word ? "true" : "false";
    case TypeKind::kFloat:
      return FloatLiteral(type.size, bytes);
    case TypeKind::kCharacter:
      if (*spelling == "char") return CharacterLiteral(word);
      return *spelling == "signed char" ? SignedText(SignExtended(word, 1)) : UnsignedText(word);
    case TypeKind::kSigned:
      return type.size == 16 ? WideLiteral(true, bytes) : SignedText(SignExtended(word, type.size));
    case TypeKind::kUnsigned:
      return type.size == 16 ? WideLiteral(false, bytes) : UnsignedText(word);
    case TypeKind::kEnum:
      if (type.size > 8) return std::nullopt;
      return type.is_signed ? SignedText(SignExtended(word, type.size)) : UnsignedText(word);
    default:
      return std::nullopt;
  }
}

std::optional<EnumLiteral> MakeEnumLiteral(const Type& type, const std::vector<uint8_t>& bytes) {
  const auto underlying = SpellScalar(type);
  if (!underlying || type.kind != TypeKind::kEnum || type.size > 8 || bytes.size() < type.size) return std::nullopt;
  if (type.enumerators.empty() || type.enumerators.size() > kMostEnumerators) return std::nullopt;

  EnumLiteral literal;
  literal.name = ShortFunction(type.name);
  const auto usable = [](const std::string& name) {
    return IsIdentifier(name) && !IsKeyword(name) && !name.starts_with("__") && name.size() <= 60;
  };
  if (!usable(literal.name)) return std::nullopt;

  const auto text = [&](uint64_t word) {
    const uint64_t mask = type.size == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * type.size)) - 1;
    return type.is_signed ? SignedText(SignExtended(word & mask, type.size)) : UnsignedText(word & mask);
  };
  const std::string value = text(LowWord(bytes, type.size));
  std::set<std::string> seen;
  std::string list;
  for (const Enumerator& enumerator : type.enumerators) {
    if (!usable(enumerator.name) || !seen.insert(enumerator.name).second) return std::nullopt;
    const std::string enumerator_value = text(static_cast<uint64_t>(enumerator.value));
    list += fmt::format("{}{} = {}", list.empty() ? "" : ", ", enumerator.name, enumerator_value);
    if (!literal.named && enumerator_value == value) {
      literal.value = fmt::format("{}::{}", literal.name, enumerator.name);
      literal.named = true;
    }
  }
  literal.definition = fmt::format("enum class {} : {} {{ {} }};", literal.name, *underlying, list);
  if (!literal.named) literal.value = fmt::format("static_cast<{}>({})", literal.name, value);
  return literal;
}

}  // namespace recrash
