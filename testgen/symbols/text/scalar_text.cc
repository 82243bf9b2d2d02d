#include "testgen/symbols/text/scalar_text.h"

#include <dwarf.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/dwarf/types.h"

namespace recrash {
namespace {

std::string BytesText(std::span<const uint8_t> bytes) {
  std::string text = "bytes";
  for (const uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 16))) text += " " + Hex({&byte, 1});
  return text;
}

std::string Decimal(unsigned __int128 value, bool negative) {
  std::string text;
  do text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
  while ((value /= 10) != 0);
  return (negative ? "-" : "") + text;
}

std::string IntegerText(std::span<const uint8_t> bytes, bool is_signed) {
  if (bytes.size() > 16) return BytesText(bytes);
  unsigned __int128 value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  const bool negative = is_signed && (bytes.back() & 0x80) != 0;
  if (negative && bytes.size() < 16) value |= ~static_cast<unsigned __int128>(0) << (bytes.size() * 8);
  return Decimal(negative ? -value : value, negative);
}

template <typename T>
std::string FloatText(std::span<const uint8_t> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  char text[64];
  const auto result = std::to_chars(text, text + sizeof(text), value);
  std::string shown(text, result.ptr);
  // A whole number is still a floating-point one.
  if (shown.find_first_not_of("-0123456789") == std::string::npos) shown += ".0";
  return shown;
}

std::string FloatText(const std::string& name, std::span<const uint8_t> bytes) {
  if (bytes.size() == 4) return FloatText<float>(bytes);
  if (bytes.size() == 8) return FloatText<double>(bytes);
  if (bytes.size() == 16 && name == "long double") return FloatText<long double>(bytes);
  return BytesText(bytes);
}

std::string CharacterText(std::span<const uint8_t> bytes) {
  if (bytes.size() == 1) return "'" + EscapeText({reinterpret_cast<const char*>(bytes.data()), 1}, '\'') + "'";
  const uint64_t code = ToUnsigned(bytes);
  if (code >= 0x20 && code < 0x7f) {
    const char character = static_cast<char>(code);
    return "'" + EscapeText({&character, 1}, '\'') + "'";
  }
  return HexNumber(code);
}

std::string Qualified(DebugInfo& debug, Dwarf_Die& type, const std::string& enumerator) {
  if (!AttributeFlag(type, DW_AT_enum_class)) return debug.ScopeOf(type) + enumerator;
  const std::string name = DieName(type);
  return debug.ScopeOf(type) + name + "::" + enumerator;
}

// Returns "kRead | kWrite" if single-bit enumerators make up the value; else "".
std::string FlagsText(DebugInfo& debug, Dwarf_Die& type, const std::vector<Enumerator>& enumerators, uint64_t value) {
  std::string text;
  for (const Enumerator& each : enumerators) {
    const auto bit = static_cast<uint64_t>(each.value);
    if (bit == 0 || (bit & (bit - 1)) != 0 || (value & bit) == 0) continue;
    text += (text.empty() ? "" : " | ") + Qualified(debug, type, each.name);
    value &= ~bit;
  }
  return value == 0 ? text : "";
}

int64_t ToSigned(std::span<const uint8_t> bytes) {
  const size_t size = std::min<size_t>(bytes.size(), 8);
  if (size == 0) return 0;
  const auto shift = static_cast<int>(64 - 8 * size);
  return static_cast<int64_t>(ToUnsigned(bytes) << shift) >> shift;
}

}  // namespace

std::string BaseText(Dwarf_Die type, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return "";
  switch (KindOf(type)) {
    case TypeKind::kBool: {
      const uint64_t value = ToUnsigned(bytes);
      return value == 0 ? "false" : value == 1 ? "true" : "bool(" + std::to_string(value) + ")";
    }
    case TypeKind::kSigned:
      return IntegerText(bytes, true);
    case TypeKind::kUnsigned:
      return IntegerText(bytes, false);
    case TypeKind::kFloat:
      return FloatText(DieName(type), bytes);
    case TypeKind::kCharacter:
      return CharacterText(bytes);
    default:
      return BytesText(bytes);
  }
}

std::string EnumText(DebugInfo& debug, Dwarf_Die type, std::span<const uint8_t> bytes) {
  if (bytes.empty()) return "";
  std::vector<Enumerator> enumerators;
  const auto underlying = TypeOf(type);
  const bool is_signed = !underlying || KindOf(*underlying) == TypeKind::kSigned;
  const int64_t value = is_signed ? ToSigned(bytes) : static_cast<int64_t>(ToUnsigned(bytes));
  for (Dwarf_Die& child : ChildrenWithTag(type, DW_TAG_enumerator)) {
    auto each = AttributeSigned(child, DW_AT_const_value);
    if (const auto bits = AttributeNumber(child, DW_AT_const_value); bits && !is_signed)
      each = static_cast<int64_t>(*bits);
    if (!each) continue;
    if (*each == value) return Qualified(debug, type, DieName(child));
    enumerators.push_back({DieName(child), *each});
  }
  const std::string flags = FlagsText(debug, type, enumerators, static_cast<uint64_t>(value));
  if (!flags.empty()) return flags;
  const std::string number = is_signed ? std::to_string(value) : std::to_string(static_cast<uint64_t>(value));
  return SpellType(debug, type) + "(" + number + ")";
}

}  // namespace recrash
