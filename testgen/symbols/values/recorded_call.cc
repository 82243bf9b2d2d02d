#include "testgen/symbols/values/recorded_call.h"

#include <algorithm>
#include <map>
#include <optional>

#include "agent/base/text.h"

namespace recrash {
namespace {

// No parameter by value is larger; a larger one is damage.
constexpr size_t kMaxParameter = 1 << 16;

// Writes the bytes as one number, the highest byte first.
std::string UntypedText(std::span<const uint8_t> bytes) {
  bytes = bytes.first(std::min<size_t>(bytes.size(), 32));
  std::string text = Hex(Bytes(bytes.rbegin(), bytes.rend()));
  text.erase(0, std::min(text.find_first_not_of('0'), text.size() - 1));
  return "0x" + text;
}

// The type that a value of this size most likely has, for people to read.
struct UntypedName {
  uint64_t size;
  const char* in_integer;
  const char* in_vector;
};

constexpr UntypedName kUntypedNames[] = {{1, "unsigned char", "unsigned char"},
                                         {2, "unsigned short", "unsigned short"},
                                         {4, "unsigned int", "float"},
                                         {8, "unsigned long", "double"}};

Type UntypedType(uint64_t size, bool in_vector) {
  Type type;
  type.size = size;
  const auto known = std::ranges::find(kUntypedNames, size, &UntypedName::size);
  if (known == std::end(kUntypedNames)) return type;
  type.name = in_vector ? known->in_vector : known->in_integer;
  type.kind = in_vector ? TypeKind::kFloat : TypeKind::kUnsigned;
  return type;
}

// Returns the pointer at `offset` of the argument itself or, for a deep field, of what that points to.
std::optional<uint64_t> PointerIn(std::span<const RecordedWord> words, uint8_t parameter, abi::WordKind kind,
                                  uint16_t offset) {
  for (const RecordedWord& pointer : words) {
    if (pointer.word.kind != static_cast<uint8_t>(kind) || pointer.word.parameter != parameter ||
        pointer.word.source_offset != offset || pointer.bytes.size() != sizeof(uint64_t))
      continue;
    return ToUnsigned(pointer.bytes);
  }
  return std::nullopt;
}

}  // namespace

void FillFromRecord(std::span<const RecordedWord> words, Parameter& parameter) {
  size_t size = parameter.type.size;
  bool any = false;
  for (const RecordedWord& recorded : words) {
    if (!IsArgument(recorded.word) || recorded.word.parameter != parameter.number) continue;
    any = true;
    if ((recorded.word.flags & abi::kIndirect) != 0) {
      parameter.indirect = true;
      size = 8;
    } else if (parameter.type.size == 0) {
      size = std::max<size_t>(size, recorded.word.source_offset + recorded.bytes.size());
    }
  }
  if (!any || size > kMaxParameter) return;
  std::vector<bool> known(size);
  parameter.bytes.assign(size, 0);
  for (const RecordedWord& recorded : words) {
    if (!IsArgument(recorded.word) || recorded.word.parameter != parameter.number) continue;
    // A structure of twelve bytes has a last eightbyte of four bytes, but its register has eight.
    const size_t offset = recorded.word.source_offset;
    if (offset >= size) continue;
    const size_t count = std::min(recorded.bytes.size(), size - offset);
    std::copy_n(recorded.bytes.begin(), count, parameter.bytes.begin() + offset);
    std::fill_n(known.begin() + offset, count, true);
    parameter.source = recorded.source;
  }
  parameter.complete = std::find(known.begin(), known.end(), false) == known.end();
}

std::vector<Parameter> UntypedParameters(std::span<const RecordedWord> words) {
  std::map<uint8_t, Parameter> by_number;
  for (const RecordedWord& recorded : words) {
    if (!IsArgument(recorded.word) || recorded.word.parameter == 0) continue;
    Parameter& parameter = by_number[recorded.word.parameter];
    parameter.number = recorded.word.parameter;
    const bool in_vector = recorded.word.location >= static_cast<uint8_t>(abi::Location::kXmm0) &&
                           recorded.word.location < static_cast<uint8_t>(abi::Location::kStack);
    const uint64_t size = recorded.word.source_offset + recorded.bytes.size();
    parameter.type = UntypedType(std::max(parameter.type.size, size), in_vector);
  }
  std::vector<Parameter> parameters;
  for (auto& [number, parameter] : by_number) {
    FillFromRecord(words, parameter);
    parameter.rendered = parameter.complete ? UntypedText(parameter.bytes) : "not known";
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

void AppendWords(const ReplayWord& first, std::span<const uint8_t> bytes, std::vector<ReplayWord>& words) {
  const bool on_stack = first.location == abi::Location::kStack;
  for (size_t offset = 0; offset < bytes.size() && (offset == 0 || on_stack); offset += first.bytes.size()) {
    ReplayWord word = first;
    word.size = static_cast<uint16_t>(std::min(first.bytes.size(), bytes.size() - offset));
    std::copy_n(bytes.begin() + offset, word.size, word.bytes.begin());
    word.stack_offset = on_stack ? static_cast<uint16_t>(first.stack_offset + offset) : 0;
    word.source_offset = static_cast<uint16_t>(first.source_offset + offset);
    words.push_back(word);
  }
}

std::vector<ReplayWord> CallWords(std::span<const RecordedWord> words) {
  std::vector<ReplayWord> call;
  for (const RecordedWord& recorded : words) {
    ReplayWord word;
    word.location = static_cast<abi::Location>(recorded.word.location);
    if (!IsArgument(recorded.word) || word.location == abi::Location::kUnknown) continue;
    word.stack_offset = recorded.word.stack_offset;
    word.parameter = recorded.word.parameter;
    word.source_offset = recorded.word.source_offset;
    word.source = recorded.source;
    AppendWords(word, recorded.bytes, call);
  }
  return call;
}

std::vector<ReplayField> RecordedFields(std::span<const RecordedWord> words) {
  std::vector<ReplayField> fields;
  for (const RecordedWord& field : words) {
    const abi::MapWord& word = field.word;
    const bool is_deep = word.kind == static_cast<uint8_t>(abi::WordKind::kDeepField);
    if (!is_deep && word.kind != static_cast<uint8_t>(abi::WordKind::kField)) continue;
    const std::optional<uint64_t> base =
        is_deep ? PointerIn(words, word.parameter, abi::WordKind::kField, word.stack_offset)
                : PointerIn(words, word.parameter, abi::WordKind::kArgument, 0);
    const uint8_t depth = is_deep ? 2 : 1;
    if (base) fields.push_back({{*base + word.source_offset}, field.bytes, depth});
  }
  return fields;
}

}  // namespace recrash
