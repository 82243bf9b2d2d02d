#include "testgen/literals/value_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "agent/base/printable_text.h"
#include "testgen/carry/object_walk.h"
#include "testgen/literals/find_literals.h"

namespace recrash {
namespace {

constexpr uint64_t kMostBytes = 1 << 16;
constexpr int kMostNesting = 8;

uint64_t WordAt(std::span<const uint8_t> bytes, uint64_t offset = 0, uint64_t size = 8) {
  uint64_t word = 0;
  if (offset < bytes.size()) std::memcpy(&word, bytes.data() + offset, std::min(size, bytes.size() - offset));
  return word;
}

bool IsReadable(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = DecodeUtf8(text.data() + i, text.size() - i);
    if (!c.valid || (IsHarmful(c.value) && c.value != '\n' && c.value != '\t')) return false;
    i += c.length;
  }
  return true;
}

std::optional<Value> TextOf(std::string text) {
  if (text.size() > kLongestLiteral || !IsReadable(text)) return std::nullopt;
  return Value(std::move(text));
}

}  // namespace

std::optional<Value> ValueReader::Integer(const Shape& shape, uint64_t bits, uint64_t width) const {
  const uint64_t unused = 64 - width;
  const auto number = static_cast<int64_t>(bits << unused) >> unused;
  const uint64_t plain = bits << unused >> unused;
  const int64_t value = shape.is_signed ? number : static_cast<int64_t>(plain);
  if (shape.kind == ShapeKind::kBool) return plain <= 1 ? std::optional<Value>(plain == 1) : std::nullopt;
  if (const auto name = shape.enumerators.find(value); name != shape.enumerators.end()) return Value(name->second);
  if (shape.is_character) return Value(static_cast<char>(value));
  return shape.is_signed ? Value(value) : Value(plain);
}

std::optional<Value> ValueReader::Real(std::span<const uint8_t> bytes) const {
  double value = 0;
  float narrow = 0;
  if (bytes.size() == sizeof narrow) {
    std::memcpy(&narrow, bytes.data(), sizeof narrow);
    value = narrow;
  } else {
    std::memcpy(&value, bytes.data(), sizeof value);
  }
  return std::isfinite(value) ? std::optional<Value>(value) : std::nullopt;
}

std::optional<Value> ValueReader::Characters(uint64_t address) {
  if (address == 0) return Value(nullptr);
  std::string text;
  for (char c = 0; text.size() <= kLongestLiteral; text += c) {
    if (!read_(address + text.size(), {reinterpret_cast<uint8_t*>(&c), 1})) return std::nullopt;
    if (c == 0) return TextOf(std::move(text));
  }
  return std::nullopt;
}

// `owns`: the block is the object's own, not a view of another one's.
std::optional<Value> ValueReader::Text(uint64_t start, uint64_t size, bool owns) {
  if (size > kLongestLiteral) return std::nullopt;
  std::string text(size, 0);
  if (size && (!is_live_(start) || !read_(start, {reinterpret_cast<uint8_t*>(text.data()), size}))) return std::nullopt;
  if (owns) blocks_.emplace_back(start, start + size + 1);
  return TextOf(std::move(text));
}

std::optional<Value> ValueReader::List(const Shape& shape, uint64_t count, std::span<const uint8_t> bytes) {
  const uint64_t size = shapes_[shape.element].size;
  if (count > kMostItems) return std::nullopt;
  std::vector<Value> items;
  for (uint64_t i = 0; i < count; ++i) {
    auto item = Read(shape.element, bytes.subspan(i * size, size));
    if (!item) return std::nullopt;
    items.push_back(*std::move(item));
  }
  return Value(std::move(items));
}

std::optional<Value> ValueReader::Vector(const Shape& shape, std::span<const uint8_t> bytes) {
  const uint64_t start = WordAt(bytes), end = WordAt(bytes, 8), room = WordAt(bytes, 16);
  const uint64_t size = shapes_[shape.element].size;
  // An empty one's elements have to be known as well: a test may add some.
  if (size == 0 || !shapes_.IsWhole(shape.element)) return std::nullopt;
  if (start > end || end > room || (end - start) % size != 0 || end - start > kMostBytes) return std::nullopt;
  std::vector<uint8_t> storage(end - start);
  if (!storage.empty() && (!is_live_(start) || !read_(start, storage))) return std::nullopt;
  if (start != room) blocks_.emplace_back(start, room);
  return List(shape, storage.size() / size, storage);
}

// The first byte: twice the length; or, of a text that has a block, odd. That then has room, length and start.
std::optional<Value> ValueReader::LibcxxString(std::span<const uint8_t> bytes) {
  if (bytes[0] & 1) return Text(WordAt(bytes, 16), WordAt(bytes, 8), true);
  const size_t size = bytes[0] >> 1;
  if (size > 22) return std::nullopt;
  return TextOf({reinterpret_cast<const char*>(bytes.data()) + 1, size});
}

std::optional<Value> ValueReader::Member(const ShapeMember& member, std::span<const uint8_t> bytes) {
  const Shape& shape = shapes_[member.shape];
  if (member.offset > bytes.size() || shape.size > bytes.size() - member.offset) return std::nullopt;
  if (member.bit_size == 0) return Read(member.shape, bytes.subspan(member.offset, shape.size));
  if (shape.kind != ShapeKind::kInteger && shape.kind != ShapeKind::kBool) return std::nullopt;
  if (member.bit_offset + member.bit_size > 64) return std::nullopt;
  ++parts_;
  return Integer(shape, WordAt(bytes, member.offset) >> member.bit_offset, member.bit_size);
}

std::optional<Value> ValueReader::Read(uint32_t place, std::span<const uint8_t> bytes) {
  const Shape& shape = shapes_[place];
  if (bytes.size() < shape.size || parts_ > kMostParts || depth_ > kMostNesting) return std::nullopt;
  bytes = bytes.first(shape.size);
  const Deeper deeper(&depth_);
  switch (shape.kind) {
    case ShapeKind::kInteger:
    case ShapeKind::kBool:
      ++parts_;
      return Integer(shape, WordAt(bytes), 8 * shape.size);
    case ShapeKind::kReal:
      ++parts_;
      return Real(bytes);
    case ShapeKind::kCharacters:
      ++parts_;
      return Characters(WordAt(bytes));
    case ShapeKind::kString:
      ++parts_;
      return Text(WordAt(bytes), WordAt(bytes, 8), true);
    case ShapeKind::kLibcxxString:
      ++parts_;
      return LibcxxString(bytes);
    case ShapeKind::kView:
      ++parts_;
      return Text(WordAt(bytes, shape.offset), WordAt(bytes, shape.offset ? 0 : 8), false);
    case ShapeKind::kArray:
      if (shapes_[shape.element].is_character) {
        ++parts_;
        const auto* text = reinterpret_cast<const char*>(bytes.data());
        return TextOf({text, strnlen(text, bytes.size())});
      }
      return List(shape, shape.count, bytes);
    case ShapeKind::kVector:
      ++parts_;
      return Vector(shape, bytes);
    case ShapeKind::kOptional:
      if (shape.offset >= bytes.size() || bytes[shape.offset] > 1 || !shapes_.IsWhole(shape.element))
        return std::nullopt;
      if (bytes[shape.offset] == 1) return Read(shape.element, bytes);
      ++parts_;
      return Value(std::nullopt);
    case ShapeKind::kClass: {
      std::vector<Value> items;
      for (const ShapeMember& member : shape.members) {
        auto item = Member(member, bytes);
        if (!item) return std::nullopt;
        items.push_back(*std::move(item));
      }
      return Value(std::move(items));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace recrash
