// A value as a test writes it: a number, a text, a list of values.
//
//   frame.Set("self->limit_", 40);
//   frame.Set("*names", {"news", "mail"});
//   frame.Set("*shape", {{0, 0}, {4, 3}});           // objects in a list: their members in order
//   frame.Set("options.encoding", "kUtf8");          // an enumerator by its name
//
// C++17, header only. Tests have it by test.h.
#ifndef RECRASH_VALUE_H_
#define RECRASH_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "recrash/replay.h"

namespace recrash {

// Stands for an argument, or a part of a value, that is left as the report has it.
struct AsRecordedArgument {};
inline constexpr AsRecordedArgument AsRecorded{};

class Value {
 public:
  Value(AsRecordedArgument) {}                                  // NOLINT: implicit, as all that follow
  Value(std::nullopt_t) : kind_(ValueKind::kNothing) {}         // NOLINT
  Value(std::nullptr_t) : kind_(ValueKind::kNull) {}            // NOLINT
  Value(bool flag) : kind_(ValueKind::kBool), number_(flag) {}  // NOLINT
  Value(char character) : kind_(ValueKind::kCharacter) {        // NOLINT
    SetNumber(character);
  }
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  Value(T number) : kind_(ValueKind::kNumber) {  // NOLINT
    SetNumber(number);
  }
  template <typename T, std::enable_if_t<std::is_enum_v<T>, int> = 0>
  Value(T enumerator) : kind_(ValueKind::kNumber) {  // NOLINT
    SetNumber(static_cast<std::underlying_type_t<T>>(enumerator));
  }
  template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0, typename = void>
  Value(T real) : kind_(ValueKind::kReal), real_(static_cast<double>(real)) {}  // NOLINT
  template <size_t N>
  Value(const char (&text)[N]) : Value(std::string(text, N - 1)) {}  // NOLINT: NULs in it count
  template <typename T, std::enable_if_t<std::is_same_v<T, const char*> || std::is_same_v<T, char*>, int> = 0>
  Value(const T& text) : Value(std::string(text)) {}                                      // NOLINT
  Value(std::string text) : kind_(ValueKind::kText), text_(std::move(text)) {}            // NOLINT
  Value(std::string_view text) : kind_(ValueKind::kText), text_(text) {}                  // NOLINT
  Value(std::initializer_list<Value> items) : kind_(ValueKind::kList), items_(items) {}   // NOLINT
  Value(std::vector<Value> items) : kind_(ValueKind::kList), items_(std::move(items)) {}  // NOLINT

  ValueKind kind() const { return kind_; }
  bool is_negative() const { return is_negative_; }
  uint64_t number() const { return number_; }  // two's complement
  double real() const { return real_; }
  const std::string& text() const { return text_; }
  const std::vector<Value>& items() const { return items_; }

  // For the replay library, which knows no std::string. It points into this value and into `lists`.
  GivenValue Give(std::deque<std::vector<GivenValue>>* lists) const {
    GivenValue given{kind_, is_negative_, number_, real_, text_.data(), text_.size(), nullptr};
    if (kind_ != ValueKind::kList) return given;
    std::vector<GivenValue>& list = lists->emplace_back();
    list.reserve(items_.size());
    for (const Value& item : items_) list.push_back(item.Give(lists));
    given.items = list.data();
    given.size = list.size();
    return given;
  }

 private:
  template <typename T>
  void SetNumber(T number) {
    is_negative_ = std::is_signed_v<T> && number < 0;
    number_ = static_cast<uint64_t>(static_cast<int64_t>(number));
    if constexpr (!std::is_signed_v<T>) number_ = number;
  }

  ValueKind kind_ = ValueKind::kAsRecorded;
  bool is_negative_ = false;
  uint64_t number_ = 0;
  double real_ = 0;
  std::string text_;
  std::vector<Value> items_;
};

// A value in one line of plain characters.
inline std::string EncodeValue(const Value& value) {
  const auto number = [&] {
    return value.is_negative() ? std::to_string(static_cast<int64_t>(value.number())) : std::to_string(value.number());
  };
  switch (value.kind()) {
    case ValueKind::kNothing:
      return "o";
    case ValueKind::kNull:
      return "p";
    case ValueKind::kBool:
      return "b" + number();
    case ValueKind::kCharacter:
      return "c" + number();
    case ValueKind::kNumber:
      return "n" + number();
    case ValueKind::kReal: {
      uint64_t bits = 0;
      const double real = value.real();
      static_assert(sizeof real == sizeof bits);
      std::memcpy(&bits, &real, sizeof bits);
      return "r" + std::to_string(bits);
    }
    case ValueKind::kText: {
      std::string out = "t";
      for (const char c : value.text()) {
        char hex[4];
        std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        out += hex;
      }
      return out;
    }
    case ValueKind::kList: {
      std::string out = "[";
      for (const Value& item : value.items()) out += (out.size() > 1 ? "," : "") + EncodeValue(item);
      return out + "]";
    }
    case ValueKind::kAsRecorded:
      break;
  }
  return "k";
}

// What the report has of a value that recrash wrote into a test. Of another value the test was edited.
inline uint64_t DigestOf(const Value& value) {
  uint64_t digest = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : EncodeValue(value)) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

}  // namespace recrash

#endif  // RECRASH_VALUE_H_
