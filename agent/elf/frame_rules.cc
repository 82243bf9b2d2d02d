#include "agent/elf/frame_rules.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace recrash {
namespace {

constexpr int kRsp = 7;
constexpr int kRip = 16;
constexpr size_t kLongestEntry = 64 << 10;
constexpr size_t kMostRemembered = 16;

// Reads from bytes of the file. Beyond their end all is 0, and failed() is true.
class Cursor {
 public:
  Cursor(std::span<const uint8_t> bytes, uint64_t address) : bytes_(bytes), address_(address) {}

  bool failed() const { return failed_; }
  bool at_end() const { return bytes_.empty() || failed_; }
  uint64_t address() const { return address_; }

  template <typename T>
  T Read() {
    T value{};
    const std::span<const uint8_t> bytes = Take(sizeof value);
    if (!failed_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

  std::span<const uint8_t> Take(uint64_t size) {
    if (size > bytes_.size()) failed_ = true;
    if (failed_) return {};
    const std::span<const uint8_t> taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    address_ += size;
    return taken;
  }

  uint64_t Unsigned() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = Read<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }

  int64_t Signed() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const uint8_t byte = Read<uint8_t>();
      value |= uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if (byte >= 0x80) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
    failed_ = true;
    return 0;
  }

  std::string_view Text() {
    const auto* text = reinterpret_cast<const char*>(bytes_.data());
    const size_t size = failed_ ? 0 : strnlen(text, bytes_.size());
    Take(size + 1);
    return failed_ ? std::string_view() : std::string_view(text, size);
  }

  // As DW_EH_PE_* says, but for those that linkers do not write here.
  uint64_t Pointer(uint8_t encoding) {
    const uint64_t base = (encoding & 0x70) == 0x10 ? address_ : 0;
    if ((encoding & 0xe0) != 0) failed_ = true;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return base + Read<uint64_t>();
      case 0x03:
        return base + Read<uint32_t>();
      case 0x0b:
        return base + static_cast<uint64_t>(int64_t{Read<int32_t>()});
    }
    failed_ = true;
    return 0;
  }

  std::span<const uint8_t> Block() { return Take(Unsigned()); }

 private:
  std::span<const uint8_t> bytes_;
  uint64_t address_;
  bool failed_ = false;
};

// One CIE or FDE, behind its length.
Cursor EntryAt(const ElfImage& image, uint64_t address) {
  const auto length = Cursor(image.Bytes(address, 4), address).Read<uint32_t>();
  const bool fits = length <= kLongestEntry && image.Bytes(address + 4, length).size() == length;
  return Cursor(image.Bytes(address + 4, fits ? length : 0), address + 4);
}

// What the functions of one CIE have in common.
struct Common {
  uint64_t code_factor = 0;
  int64_t data_factor = 0;
  uint8_t encoding = 0;
  bool has_augmentation = false;
  bool is_signal_frame = false;
  Cursor instructions{{}, 0};
};

void ReadAugmentation(std::string_view text, Cursor* cursor, Common* common) {
  for (const char c : text) {
    if (c == 'R') common->encoding = cursor->Read<uint8_t>();
    if (c == 'L') cursor->Read<uint8_t>();
    if (c == 'S') common->is_signal_frame = true;
    // Relative to anything, or indirect, it is as long.
    if (c == 'P') cursor->Pointer(cursor->Read<uint8_t>() & 0x0f);
  }
}

std::optional<Common> ReadCommon(const ElfImage& image, uint64_t address) {
  Cursor cursor = EntryAt(image, address);
  Common common;
  if (cursor.Read<uint32_t>() != 0) return std::nullopt;
  const auto version = cursor.Read<uint8_t>();
  const std::string_view augmentation = cursor.Text();
  common.code_factor = cursor.Unsigned();
  common.data_factor = cursor.Signed();
  const uint64_t return_register = version == 1 ? cursor.Read<uint8_t>() : cursor.Unsigned();
  common.has_augmentation = augmentation.starts_with('z');
  if (common.has_augmentation) {
    const uint64_t at = cursor.address();
    Cursor data(cursor.Block(), at);
    ReadAugmentation(augmentation, &data, &common);
    if (data.failed()) return std::nullopt;
  } else if (!augmentation.empty()) {
    return std::nullopt;
  }
  if (cursor.failed() || return_register != kRip) return std::nullopt;
  common.instructions = cursor;
  return common;
}

// Runs call frame instructions until those of the wanted address are done.
class Interpreter {
 public:
  explicit Interpreter(const Common& common) : common_(common) {}

  bool Run(Cursor cursor, uint64_t at, uint64_t wanted) {
    location_ = at;
    while (!cursor.at_end() && location_ <= wanted) {
      const auto code = cursor.Read<uint8_t>();
      const uint8_t low = code & 0x3f;
      // An instruction behind an advance is of an address that is too high.
      if (const auto advance = Advance(code, low, &cursor)) {
        location_ += *advance * common_.code_factor;
      } else if (code >= 0xc0) {
        Restore(low);
      } else if (code >= 0x80) {
        Set(low, FrameRules::Kind::kAtCfa, Factored(cursor.Unsigned()));
      } else if (!Other(code, &cursor)) {
        return false;
      }
    }
    return !cursor.failed();
  }

  void KeepInitial() { initial_ = rules_; }
  const FrameRules& rules() const { return rules_; }

 private:
  static std::optional<uint64_t> Advance(uint8_t code, uint8_t low, Cursor* cursor) {
    if (code >= 0x40 && code < 0x80) return low;
    if (code == 0x02) return cursor->Read<uint8_t>();
    if (code == 0x03) return cursor->Read<uint16_t>();
    if (code == 0x04) return cursor->Read<uint32_t>();
    return std::nullopt;
  }

  // Modulo 2^64: numbers of a hostile file may be any.
  int64_t Factored(uint64_t value) const {
    return static_cast<int64_t>(value * static_cast<uint64_t>(common_.data_factor));
  }
  int64_t Factored(int64_t value) const { return Factored(static_cast<uint64_t>(value)); }

  // Vector registers are not followed.
  void Set(uint64_t number, FrameRules::Kind kind, int64_t value = 0, std::span<const uint8_t> expression = {}) {
    if (number < rules_.registers.size()) rules_.registers[number] = {kind, value, expression};
  }
  void Restore(uint64_t number) {
    if (number < rules_.registers.size()) rules_.registers[number] = initial_.registers[number];
  }
  void SetCfa(uint64_t number, int64_t offset) {
    rules_.cfa = {FrameRules::Kind::kInRegister, static_cast<int64_t>(number), {}};
    rules_.cfa_offset = offset;
  }

  bool Remember() {
    if (remembered_.size() == kMostRemembered) return false;
    remembered_.push_back(rules_);
    return true;
  }
  bool Recall() {
    if (remembered_.empty()) return false;
    rules_ = remembered_.back();
    remembered_.pop_back();
    return true;
  }

  bool Other(uint8_t code, Cursor* cursor) {
    using Kind = FrameRules::Kind;
    switch (code) {
      case 0x00:  // nop
        return true;
      case 0x05: {  // offset_extended
        const uint64_t number = cursor->Unsigned();
        return Set(number, Kind::kAtCfa, Factored(cursor->Unsigned())), true;
      }
      case 0x06:  // restore_extended
        return Restore(cursor->Unsigned()), true;
      case 0x07:  // undefined
        return Set(cursor->Unsigned(), Kind::kUndefined), true;
      case 0x08:  // same_value
        return Set(cursor->Unsigned(), Kind::kSame), true;
      case 0x09: {  // register
        const uint64_t number = cursor->Unsigned();
        return Set(number, Kind::kInRegister, static_cast<int64_t>(cursor->Unsigned())), true;
      }
      case 0x0a:
        return Remember();
      case 0x0b:
        return Recall();
      case 0x0c: {  // def_cfa
        const uint64_t number = cursor->Unsigned();
        return SetCfa(number, static_cast<int64_t>(cursor->Unsigned())), true;
      }
      case 0x0d:  // def_cfa_register
        return SetCfa(cursor->Unsigned(), rules_.cfa_offset), true;
      case 0x0e:  // def_cfa_offset
        return rules_.cfa_offset = static_cast<int64_t>(cursor->Unsigned()), true;
      case 0x0f:  // def_cfa_expression
        return rules_.cfa = {Kind::kExpression, 0, cursor->Block()}, true;
      case 0x10: {  // expression
        const uint64_t number = cursor->Unsigned();
        return Set(number, Kind::kAtExpression, 0, cursor->Block()), true;
      }
      case 0x11: {  // offset_extended_sf
        const uint64_t number = cursor->Unsigned();
        return Set(number, Kind::kAtCfa, Factored(cursor->Signed())), true;
      }
      case 0x12: {  // def_cfa_sf
        const uint64_t number = cursor->Unsigned();
        return SetCfa(number, Factored(cursor->Signed())), true;
      }
      case 0x13:  // def_cfa_offset_sf
        return rules_.cfa_offset = Factored(cursor->Signed()), true;
      case 0x14: {  // val_offset
        const uint64_t number = cursor->Unsigned();
        return Set(number, Kind::kCfaPlus, Factored(cursor->Unsigned())), true;
      }
      case 0x16: {  // val_expression
        const uint64_t number = cursor->Unsigned();
        return Set(number, Kind::kExpression, 0, cursor->Block()), true;
      }
      case 0x2e:  // GNU_args_size
        return cursor->Unsigned(), true;
    }
    return false;
  }

  const Common& common_;
  FrameRules rules_, initial_;
  std::vector<FrameRules> remembered_;
  uint64_t location_ = 0;
};

// The expressions that compilers, linkers and libc write: of signal frames, realigned stacks, and the PLT.
std::optional<uint64_t> Evaluate(std::span<const uint8_t> expression, std::optional<uint64_t> first,
                                 const FrameRegisters& registers, const ReadTargetWord& read) {
  std::vector<uint64_t> stack;
  if (first) stack.push_back(*first);
  const auto pop = [&] {
    const uint64_t top = stack.empty() ? 0 : stack.back();
    if (!stack.empty()) stack.pop_back();
    return top;
  };
  for (Cursor cursor(expression, 0); !cursor.at_end();) {
    const auto code = cursor.Read<uint8_t>();
    if (code >= 0x70 && code < 0x70 + abi::kRegisterCount) {  // breg
      stack.push_back(registers[code - 0x70] + static_cast<uint64_t>(cursor.Signed()));
    } else if (code >= 0x30 && code < 0x50) {  // lit
      stack.push_back(code - 0x30);
    } else if (code == 0x06) {  // deref
      const std::optional<uint64_t> word = read(pop());
      if (!word) return std::nullopt;
      stack.push_back(*word);
    } else if (code == 0x08) {  // const1u
      stack.push_back(cursor.Read<uint8_t>());
    } else if (code == 0x23) {  // plus_uconst
      stack.push_back(pop() + cursor.Unsigned());
    } else {
      const uint64_t right = pop(), left = pop();
      if (code == 0x1a)
        stack.push_back(left & right);
      else if (code == 0x22)
        stack.push_back(left + right);
      else if (code == 0x24 && right < 64)
        stack.push_back(left << right);
      else if (code == 0x2a)
        stack.push_back(static_cast<int64_t>(left) >= static_cast<int64_t>(right) ? 1 : 0);
      else
        return std::nullopt;
    }
    if (cursor.failed()) return std::nullopt;
  }
  return stack.empty() ? std::nullopt : std::optional(stack.back());
}

// What is known of a frame while its caller's registers are found.
struct Frame {
  const FrameRegisters& registers;
  const ReadTargetWord& read;
  std::optional<uint64_t> cfa = {};

  std::optional<uint64_t> InRegister(int64_t number) const {
    const auto index = static_cast<uint64_t>(number);
    return index < registers.size() ? std::optional(registers[index]) : std::nullopt;
  }

  // Of a register that the rule says something of.
  std::optional<uint64_t> Apply(const FrameRules::Rule& rule) const {
    const uint64_t offset = *cfa + static_cast<uint64_t>(rule.number);
    switch (rule.kind) {
      case FrameRules::Kind::kAtCfa:
        return read(offset);
      case FrameRules::Kind::kCfaPlus:
        return offset;
      case FrameRules::Kind::kInRegister:
        return InRegister(rule.number);
      case FrameRules::Kind::kAtExpression: {
        const std::optional<uint64_t> at = Evaluate(rule.expression, cfa, registers, read);
        return at ? read(*at) : std::nullopt;
      }
      case FrameRules::Kind::kExpression:
        return Evaluate(rule.expression, cfa, registers, read);
      case FrameRules::Kind::kSame:
      case FrameRules::Kind::kUndefined:
        break;
    }
    return std::nullopt;
  }
};

}  // namespace

bool FrameRules::is_outermost() const { return registers[kRip].kind == Kind::kUndefined; }

bool FrameRules::Unwind(const ReadTargetWord& read, FrameRegisters* registers) const {
  const FrameRegisters before = *registers;
  Frame frame{before, read};
  if (cfa.kind == Kind::kExpression) {
    frame.cfa = Evaluate(cfa.expression, std::nullopt, before, read);
  } else if (const auto base = frame.InRegister(cfa.number)) {
    frame.cfa = *base + static_cast<uint64_t>(cfa_offset);
  }
  if (!frame.cfa || is_outermost()) return false;
  (*registers)[kRsp] = *frame.cfa;
  for (size_t i = 0; i < before.size(); ++i) {
    const Rule& rule = this->registers[i];
    if (rule.kind == Kind::kSame || rule.kind == Kind::kUndefined) continue;
    const std::optional<uint64_t> value = frame.Apply(rule);
    if (!value) return false;
    (*registers)[i] = *value;
  }
  return true;
}

std::optional<FrameRules> ReadFrameRules(const ElfImage& image, uint64_t address) {
  const std::optional<uint64_t> description = image.FrameDescription(address);
  if (!description) return std::nullopt;
  Cursor cursor = EntryAt(image, *description);
  const uint64_t at = cursor.address();
  const std::optional<Common> common = ReadCommon(image, at - cursor.Read<uint32_t>());
  if (cursor.failed() || !common) return std::nullopt;
  const uint64_t start = cursor.Pointer(common->encoding);
  const uint64_t size = cursor.Pointer(common->encoding & 0x0f);
  if (common->has_augmentation) cursor.Block();
  if (cursor.failed() || address < start || address - start >= size) return std::nullopt;
  Interpreter interpreter(*common);
  if (!interpreter.Run(common->instructions, 0, 0)) return std::nullopt;
  interpreter.KeepInitial();
  if (!interpreter.Run(cursor, start, address)) return std::nullopt;
  FrameRules rules = interpreter.rules();
  rules.is_signal_frame = common->is_signal_frame;
  if (rules.cfa.kind == FrameRules::Kind::kSame || rules.registers[kRip].kind == FrameRules::Kind::kSame)
    return std::nullopt;
  return rules;
}

}  // namespace recrash
