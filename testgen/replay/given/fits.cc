// Whether a value fits the type of what it is given to. In the parent of a replay.
#include <stdio.h>
#include <string.h>

#include "testgen/replay/given/values.h"

namespace recrash::replay {
namespace {

constexpr int kMostNesting = 64;

const char* KindName(ValueKind kind) {
  switch (kind) {
    case ValueKind::kNumber:
      return "a number";
    case ValueKind::kBool:
      return "a bool";
    case ValueKind::kCharacter:
      return "a character";
    case ValueKind::kReal:
      return "a floating-point number";
    case ValueKind::kText:
      return "a text";
    case ValueKind::kList:
      return "a list";
    case ValueKind::kNothing:
      return "std::nullopt";
    case ValueKind::kNull:
      return "nullptr";
    case ValueKind::kAsRecorded:
      break;
  }
  return "recrash::AsRecorded";
}

class Check {
 public:
  Check(const PlanShapes& shapes, char* text, size_t size) : shapes_(shapes), text_(text), size_(size) {}

  bool Fits(const plan::ShapeMember& place, const GivenValue& value, int depth) {
    const plan::Shape& shape = shapes_.At(place.shape);
    if (depth > kMostNesting) return Refuse("it is nested too deeply");
    if (value.kind == ValueKind::kAsRecorded) return true;
    switch (shape.kind) {
      case ShapeKind::kInteger:
        return IntegerFits(place, shape, value);
      case ShapeKind::kBool:
        if (value.kind == ValueKind::kBool || (IsNumber(value) && !value.is_negative && value.number <= 1)) return true;
        return Mismatch(shape, value);
      case ShapeKind::kReal:
        return value.kind == ValueKind::kReal || IsNumber(value) || Mismatch(shape, value);
      case ShapeKind::kCharacters:
        return value.kind == ValueKind::kText || value.kind == ValueKind::kNull || Mismatch(shape, value);
      case ShapeKind::kString:
      case ShapeKind::kLibcxxString:
      case ShapeKind::kView:
        return value.kind == ValueKind::kText || Mismatch(shape, value);
      case ShapeKind::kArray:
        return ArrayFits(shape, value, depth);
      case ShapeKind::kVector:
        if (value.kind != ValueKind::kList) return Mismatch(shape, value);
        for (uint64_t i = 0; i < value.size; ++i)
          if (IsPartly(value.items[i])) return Refuse("an element of a vector cannot stay as recorded: give all of it");
        return ItemsFit(shape, value, depth);
      case ShapeKind::kOptional:
        return value.kind == ValueKind::kNothing || Fits(PlaceOf(shape.element), value, depth + 1);
      case ShapeKind::kClass:
        return ClassFits(shape, value, depth);
      default:
        return Refuse("a test cannot give a value of type %s",
                      *shapes_.Text(shape.name) ? shapes_.Text(shape.name) : "this kind");
    }
  }

 private:
  static bool IsNumber(const GivenValue& value) {
    return value.kind == ValueKind::kNumber || value.kind == ValueKind::kCharacter || value.kind == ValueKind::kBool;
  }

  static bool IsPartly(const GivenValue& value) {
    if (value.kind == ValueKind::kAsRecorded) return true;
    for (uint64_t i = 0; value.kind == ValueKind::kList && i < value.size; ++i)
      if (IsPartly(value.items[i])) return true;
    return false;
  }

  template <typename... Arguments>
  bool Refuse(const char* format, Arguments... arguments) {
    snprintf(text_, size_, format, arguments...);
    return false;
  }
  bool Refuse(const char* text) {
    snprintf(text_, size_, "%s", text);
    return false;
  }

  bool Mismatch(const plan::Shape& shape, const GivenValue& value) {
    return Refuse("its type is %s, and %s was given", shapes_.Text(shape.name), KindName(value.kind));
  }

  bool IntegerFits(const plan::ShapeMember& place, const plan::Shape& shape, const GivenValue& value) {
    if (value.kind == ValueKind::kText && shape.enumerators.count) {
      for (const plan::Enumerator& enumerator : shapes_.Rows<plan::Enumerator>(shape.enumerators))
        if (strcmp(shapes_.Text(enumerator.name), value.text) == 0) return true;
      return Refuse("%s has no enumerator %s", shapes_.Text(shape.name), value.text);
    }
    if (!IsNumber(value)) return Mismatch(shape, value);
    const uint64_t width = place.bit_size ? place.bit_size : 8 * shape.size;
    const uint64_t unused = 64 - width;
    const uint64_t kept = value.number << unused >> unused;
    const auto is_signed = static_cast<uint64_t>(static_cast<int64_t>(value.number << unused) >> unused);
    // A character may be given as what it is, or by its number.
    const bool fits_signed = is_signed == value.number && (value.is_negative || width < 64 || kept >> 63 == 0);
    const bool fits_unsigned = kept == value.number && !value.is_negative;
    if (shape.is_signed ? fits_signed : fits_unsigned) return true;
    if (shape.is_character && fits_unsigned) return true;
    const char* type = shapes_.Text(shape.name);
    const auto bits = static_cast<unsigned>(width);
    if (value.is_negative)
      return Refuse("%lld does not fit %u bits of type %s", static_cast<long long>(value.number), bits, type);
    return Refuse("%llu does not fit %u bits of type %s", static_cast<unsigned long long>(value.number), bits, type);
  }

  bool ItemsFit(const plan::Shape& shape, const GivenValue& value, int depth) {
    for (uint64_t i = 0; i < value.size; ++i)
      if (!Fits(PlaceOf(shape.element), value.items[i], depth + 1)) return false;
    return true;
  }

  bool ArrayFits(const plan::Shape& shape, const GivenValue& value, int depth) {
    if (value.kind == ValueKind::kText && shapes_.At(shape.element).is_character) {
      if (value.size <= shape.count) return true;
      return Refuse("%s has no room for %llu characters", shapes_.Text(shape.name),
                    static_cast<unsigned long long>(value.size));
    }
    if (value.kind != ValueKind::kList) return Mismatch(shape, value);
    if (value.size != shape.count)
      return Refuse("%s has %llu elements, and %llu were given", shapes_.Text(shape.name),
                    static_cast<unsigned long long>(shape.count), static_cast<unsigned long long>(value.size));
    return ItemsFit(shape, value, depth);
  }

  bool ClassFits(const plan::Shape& shape, const GivenValue& value, int depth) {
    if (value.kind != ValueKind::kList) return Mismatch(shape, value);
    const auto members = shapes_.Rows<plan::ShapeMember>(shape.members);
    if (value.size != members.count)
      return Refuse("%s has %llu members in this build, and %llu were given", shapes_.Text(shape.name),
                    static_cast<unsigned long long>(members.count), static_cast<unsigned long long>(value.size));
    for (size_t i = 0; i < members.count; ++i)
      if (!Fits(members[i], value.items[i], depth + 1)) return false;
    return true;
  }

  const PlanShapes& shapes_;
  char* text_;
  size_t size_;
};

}  // namespace

bool Fits(const PlanShapes& shapes, const plan::ShapeMember& place, const GivenValue& value, char* text, size_t size) {
  return Check(shapes, text, size).Fits(place, value, 0);
}

}  // namespace recrash::replay
