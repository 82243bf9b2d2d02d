#include "testgen/symbols/values/recorded_call.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

namespace recrash {
namespace {

constexpr size_t kWordBytes = 16;
// No parameter by value is larger; a larger one is damage.
constexpr size_t kMaxParameter = 1 << 16;

bool IsArgument(const RecordedWord& recorded) {
  return recorded.word.kind == static_cast<uint8_t>(abi::WordKind::kArgument);
}

// Writes the bytes as one number, the highest byte first.
std::string UntypedText(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = std::min<size_t>(bytes.size(), 32); i-- > 0;)
    text += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  text.erase(0, std::min(text.find_first_not_of('0'), text.size() - 1));
  return "0x" + text;
}

}  // namespace

void FillFromRecord(std::span<const RecordedWord> words, Parameter& parameter) {
  size_t size = parameter.type.size;
  bool any = false;
  for (const RecordedWord& recorded : words) {
    if (!IsArgument(recorded) || recorded.word.parameter != parameter.number) continue;
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
    if (!IsArgument(recorded) || recorded.word.parameter != parameter.number) continue;
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
    if (!IsArgument(recorded) || recorded.word.parameter == 0) continue;
    Parameter& parameter = by_number[recorded.word.parameter];
    parameter.number = recorded.word.parameter;
    const bool in_vector = recorded.word.location >= static_cast<uint8_t>(abi::Location::kXmm0) &&
                           recorded.word.location < static_cast<uint8_t>(abi::Location::kStack);
    const size_t size = recorded.word.source_offset + recorded.bytes.size();
    parameter.type.size = std::max<uint64_t>(parameter.type.size, size);
    parameter.type.kind = TypeKind::kUnsigned;
    switch (parameter.type.size) {
      case 1:
        parameter.type.name = "unsigned char";
        break;
      case 2:
        parameter.type.name = "unsigned short";
        break;
      case 4:
        parameter.type.name = in_vector ? "float" : "unsigned int";
        break;
      case 8:
        parameter.type.name = in_vector ? "double" : "unsigned long";
        break;
      default:
        parameter.type.name = "";
        parameter.type.kind = TypeKind::kUnknown;
    }
    if (in_vector && parameter.type.kind == TypeKind::kUnsigned) parameter.type.kind = TypeKind::kFloat;
  }
  std::vector<Parameter> parameters;
  for (auto& [number, parameter] : by_number) {
    FillFromRecord(words, parameter);
    parameter.rendered = parameter.complete ? UntypedText(parameter.bytes) : "not known";
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::vector<ReplayWord> CallWords(std::span<const RecordedWord> words) {
  std::vector<ReplayWord> call;
  for (const RecordedWord& recorded : words) {
    if (!IsArgument(recorded) || recorded.word.location == static_cast<uint8_t>(abi::Location::kUnknown)) continue;
    const bool on_stack = recorded.word.location == static_cast<uint8_t>(abi::Location::kStack);
    for (size_t offset = 0; offset < recorded.bytes.size(); offset += kWordBytes) {
      if (offset > 0 && !on_stack) break;  // a register holds one piece; ymm and zmm are not kept whole
      ReplayWord word;
      word.location = static_cast<abi::Location>(recorded.word.location);
      word.stack_offset = on_stack ? static_cast<uint16_t>(recorded.word.stack_offset + offset) : 0;
      word.size = static_cast<uint16_t>(std::min(kWordBytes, recorded.bytes.size() - offset));
      std::copy_n(recorded.bytes.begin() + offset, word.size, word.bytes.begin());
      word.parameter = recorded.word.parameter;
      word.source_offset = static_cast<uint16_t>(recorded.word.source_offset + offset);
      word.source = recorded.source;
      call.push_back(word);
    }
  }
  return call;
}

namespace {

// The pointer at `offset` of the argument itself or, for a deep field, of what that points to.
std::optional<uint64_t> PointerIn(std::span<const RecordedWord> words, uint8_t parameter, abi::WordKind kind,
                                  uint16_t offset) {
  for (const RecordedWord& pointer : words) {
    if (pointer.word.kind != static_cast<uint8_t>(kind) || pointer.word.parameter != parameter ||
        pointer.word.source_offset != offset || pointer.bytes.size() != sizeof(uint64_t))
      continue;
    uint64_t address = 0;
    std::memcpy(&address, pointer.bytes.data(), sizeof(address));
    return address;
  }
  return std::nullopt;
}

}  // namespace

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
