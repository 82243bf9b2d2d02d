#include "testgen/emit/literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <span>

#include "agent/base/printable_text.h"
#include "testgen/emit/failure_text.h"
#include "testgen/emit/names.h"
#include "testgen/emit/spelling.h"

namespace recrash {
namespace {

constexpr size_t kMostEnumerators = 12;

// The first eight bytes as a number, or all if there are fewer.
uint64_t ToUnsigned(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

int64_t ToSigned(std::span<const uint8_t> bytes) {
  const unsigned shift = 64 - 8 * static_cast<unsigned>(std::min<size_t>(bytes.size(), 8));
  return static_cast<int64_t>(ToUnsigned(bytes) << shift) >> shift;
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

std::string IntegerText(std::span<const uint8_t> bytes, bool is_signed) {
  return is_signed ? SignedText(ToSigned(bytes)) : UnsignedText(ToUnsigned(bytes));
}

std::optional<std::string> WideLiteral(bool is_signed, const std::vector<uint8_t>& bytes) {
  const uint64_t low = ToUnsigned(std::span(bytes).first(8));
  const uint64_t high = ToUnsigned(std::span(bytes).subspan(8));
  if (!is_signed && high == 0) return UnsignedText(low);
  const bool negative = static_cast<int64_t>(low) < 0;
  if (is_signed && high == (negative ? ~uint64_t{0} : 0)) return SignedText(static_cast<int64_t>(low));
  return std::nullopt;
}

// Of one byte, which need not be a character.
std::string CharacterLiteral(uint8_t byte) {
  const char character = static_cast<char>(byte);
  return "'" + EscapeText({&character, 1}, '\'') + "'";
}

template <typename Float>
std::optional<std::string> FloatLiteral(const std::vector<uint8_t>& bytes, const char* suffix) {
  Float value;
  std::memcpy(&value, bytes.data(), sizeof value);
  if (!std::isfinite(value)) return std::nullopt;
  const std::string shortest = fmt::format("{}", value);
  return shortest + (shortest.find_first_of(".e") == std::string::npos ? ".0" : "") + suffix;
}

}  // namespace

std::optional<std::string> ScalarLiteral(const Type& type, const std::vector<uint8_t>& bytes) {
  const auto spelling = SpellScalar(type);
  if (!spelling || bytes.size() < type.size || type.size == 0) return std::nullopt;
  const std::span<const uint8_t> value = std::span(bytes).first(type.size);
  switch (type.kind) {
    case TypeKind::kBool:
      // A bool that is neither can be the very bug.
      if (type.size != 1 || value[0] > 1) return std::nullopt;
      return value[0] ? "true" : "false";
    case TypeKind::kFloat:
      if (type.size == 4) return FloatLiteral<float>(bytes, "f");
      return type.size == 8 ? FloatLiteral<double>(bytes, "") : std::nullopt;
    case TypeKind::kCharacter:
      if (*spelling == "char") return CharacterLiteral(value[0]);
      return IntegerText(value, *spelling == "signed char");
    case TypeKind::kSigned:
      return type.size == 16 ? WideLiteral(true, bytes) : IntegerText(value, true);
    case TypeKind::kUnsigned:
      return type.size == 16 ? WideLiteral(false, bytes) : IntegerText(value, false);
    case TypeKind::kEnum:
      if (type.size > 8) return std::nullopt;
      return IntegerText(value, type.is_signed);
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

  const auto text = [&](const void* value) {
    return IntegerText({static_cast<const uint8_t*>(value), type.size}, type.is_signed);
  };
  const std::string value = text(bytes.data());
  std::set<std::string> seen;
  std::string list;
  for (const Enumerator& enumerator : type.enumerators) {
    if (!usable(enumerator.name) || !seen.insert(enumerator.name).second) return std::nullopt;
    const std::string enumerator_value = text(&enumerator.value);
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
