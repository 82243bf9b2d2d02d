// Written after the opcode maps of Intel's manual, volume 2, appendix A, 64-bit mode.
#include "agent/client/watch/instruction.h"

#include <string.h>

namespace recrash::watch {
namespace {

constexpr size_t kLongest = 15;

enum Shape : uint8_t {
  kUnknown = 0,
  kNone = 1,  // nothing follows the opcode
  kModRm = 2,
  kByte = 4,  // an immediate of one byte
  kWord = 8,  // of four, or two under 0x66
  kRelative8 = 16,
  kRelative32 = 32,
  kEnds = 64,  // control goes elsewhere
};

Shape Or(Shape a, Shape b) { return static_cast<Shape>(a | b); }

Shape ArithmeticShape(uint8_t opcode) {  // 00..3f: six forms of each of eight operations
  switch (opcode & 7) {
    case 4:
      return kByte;
    case 5:
      return kWord;
    case 6:
    case 7:
      return kUnknown;
    default:
      return kModRm;
  }
}

Shape OneByteShape(uint8_t opcode) {
  if (opcode < 0x40) return ArithmeticShape(opcode);
  if (opcode >= 0x50 && opcode <= 0x5f) return kNone;  // push, pop
  if (opcode >= 0x70 && opcode <= 0x7f) return kRelative8;
  if (opcode >= 0x84 && opcode <= 0x8f) return kModRm;
  if (opcode >= 0x90 && opcode <= 0x99) return kNone;
  if (opcode >= 0xb0 && opcode <= 0xb7) return kByte;
  if (opcode >= 0xb8 && opcode <= 0xbf) return kWord;   // eight bytes with REX.W: seen to by the caller
  if (opcode >= 0xd8 && opcode <= 0xdf) return kModRm;  // x87
  switch (opcode) {
    case 0x63:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
    case 0xf6:  // an immediate for /0 and /1: seen to by the caller
    case 0xf7:
    case 0xfe:
    case 0xff:
      return kModRm;
    case 0x68:
    case 0xa9:
      return kWord;
    case 0x69:
    case 0x81:
    case 0xc7:
      return Or(kModRm, kWord);
    case 0x6a:
    case 0xa8:
      return kByte;
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
      return Or(kModRm, kByte);
    case 0x9b:
    case 0x9c:
    case 0x9d:
    case 0x9e:
    case 0x9f:
    case 0xa4:
    case 0xa5:
    case 0xa6:
    case 0xa7:
    case 0xaa:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xae:
    case 0xaf:
    case 0xc9:
    case 0xf5:
    case 0xf8:
    case 0xf9:
    case 0xfc:
    case 0xfd:
      return kNone;
    case 0xc3:
    case 0xcc:
      return Or(kNone, kEnds);
    case 0xe0:
    case 0xe1:
    case 0xe2:
    case 0xe3:
    case 0xeb:
      return kRelative8;
    case 0xe8:
    case 0xe9:
      return kRelative32;
    default:
      return kUnknown;
  }
}

Shape TwoByteShape(uint8_t opcode) {  // 0f xx
  if (opcode >= 0x80 && opcode <= 0x8f) return kRelative32;
  if ((opcode >= 0xc8 && opcode <= 0xcf) || opcode == 0x31 || opcode == 0x77 || opcode == 0xa2 || opcode == 0x05)
    return kNone;  // bswap; rdtsc, emms, cpuid, syscall
  if (opcode == 0x0b) return Or(kNone, kEnds);
  if ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xa4 || opcode == 0xac || opcode == 0xba || opcode == 0xc2 ||
      (opcode >= 0xc4 && opcode <= 0xc6))
    return Or(kModRm, kByte);
  if ((opcode >= 0x10 && opcode <= 0x1f) || (opcode >= 0x28 && opcode <= 0x2f) || (opcode >= 0x40 && opcode <= 0x6f) ||
      (opcode >= 0x74 && opcode <= 0x76) || (opcode >= 0x7c && opcode <= 0x7f) || (opcode >= 0x90 && opcode <= 0x9f) ||
      (opcode >= 0xa3 && opcode <= 0xa5) || (opcode >= 0xab && opcode <= 0xc1) || opcode == 0xc3 || opcode == 0xc7 ||
      opcode == 0x01 || opcode == 0x0d || (opcode >= 0xd0 && opcode <= 0xfe))
    return kModRm;
  return kUnknown;
}

// Vector encodings: the map says what the opcode means; an immediate comes where the map of SSE has one.
Shape VectorShape(unsigned map, uint8_t opcode) {
  switch (map) {
    case 1: {
      if (opcode == 0x77) return kNone;  // vzeroupper
      const Shape shape = TwoByteShape(opcode);
      return (shape & kModRm) != 0 ? shape : kModRm;
    }
    case 2:
    case 5:
    case 6:
      return kModRm;
    case 3:
      return Or(kModRm, kByte);
    default:
      return kUnknown;
  }
}

class Decoder {
 public:
  Decoder(const uint8_t* code, size_t available, uint64_t address)
      : code_(code), available_(available < kLongest ? available : kLongest), address_(address) {}

  Instruction Run() {
    Instruction instruction;
    if (!ReadPrefixes()) return instruction;
    const Shape shape = ReadOpcode();
    if (shape == kUnknown || !ReadOperands(shape, &instruction) || at_ > available_) return Instruction();
    instruction.size = static_cast<uint8_t>(at_);
    if ((shape & (kRelative8 | kRelative32)) != 0) SetTarget(shape, &instruction);
    return instruction;
  }

 private:
  bool ReadPrefixes() {
    for (; at_ < available_; ++at_) {
      switch (code_[at_]) {
        case 0x66:
          operand16_ = true;
          continue;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
        case 0xf0:
        case 0xf2:
        case 0xf3:
          continue;
        default:
          break;
      }
      if ((code_[at_] & 0xf0) == 0x40) wide_ = (code_[at_++] & 8) != 0;  // REX, always the last
      return at_ < available_;
    }
    return false;
  }

  // Where bytes run out, what is read is 0 and the size at the end too large.
  uint8_t Next() { return at_ < available_ ? code_[at_++] : (at_ = kLongest + 1, 0); }

  Shape ReadOpcode() {
    opcode_ = Next();
    if (opcode_ == 0xc5) return Next(), VectorShape(1, vector_opcode());
    if (opcode_ == 0xc4) {
      const unsigned map = Next() & 0x1f;
      Next();
      return VectorShape(map, vector_opcode());
    }
    if (opcode_ == 0x62) {
      const unsigned map = Next() & 7;
      Next();
      Next();
      return VectorShape(map, vector_opcode());
    }
    if (opcode_ != 0x0f) return one_byte_ = true, OneByteShape(opcode_);
    opcode_ = Next();
    if (opcode_ == 0x38) return Next(), kModRm;
    if (opcode_ == 0x3a) return Next(), Or(kModRm, kByte);
    return TwoByteShape(opcode_);
  }

  uint8_t vector_opcode() { return opcode_ = Next(); }

  bool ReadOperands(Shape shape, Instruction* instruction) {
    if ((shape & kModRm) != 0) {
      const uint8_t group = ReadModRm(instruction);
      if (one_byte_ && (opcode_ == 0xf6 || opcode_ == 0xf7) && group < 2) at_ += opcode_ == 0xf6 ? 1 : immediate_word();
      if (one_byte_ && opcode_ == 0xff && group >= 2 && group <= 5) instruction->kind = InstructionKind::kLeaves;
      if (one_byte_ && opcode_ == 0xff && group == 7) return false;
    }
    if ((shape & kByte) != 0) at_ += 1;
    if ((shape & kWord) != 0) at_ += one_byte_ && opcode_ >= 0xb8 && opcode_ <= 0xbf && wide_ ? 8 : immediate_word();
    if ((shape & kRelative8) != 0) at_ += 1;
    if ((shape & kRelative32) != 0) {
      if (operand16_) return false;  // not the same on all processors
      at_ += 4;
    }
    if ((shape & kEnds) != 0) instruction->kind = InstructionKind::kLeaves;
    return true;
  }

  size_t immediate_word() const { return operand16_ && !wide_ ? 2 : 4; }

  uint8_t ReadModRm(Instruction* instruction) {
    const uint8_t byte = Next();
    const unsigned mod = byte >> 6, rm = byte & 7;
    if (mod != 3) {
      const unsigned base = rm == 4 ? Next() & 7u : rm;
      if (mod == 0 && rm == 5) instruction->displacement = static_cast<uint8_t>(at_);
      if (mod == 1)
        at_ += 1;
      else if (mod == 2 || base == 5)
        at_ += 4;
    }
    return (byte >> 3) & 7;
  }

  void SetTarget(Shape shape, Instruction* instruction) {
    int64_t distance = 0;
    if ((shape & kRelative8) != 0) {
      distance = static_cast<int8_t>(code_[at_ - 1]);
    } else {
      int32_t value = 0;
      memcpy(&value, code_ + at_ - 4, sizeof value);
      distance = value;
    }
    instruction->target = address_ + at_ + static_cast<uint64_t>(distance);
    instruction->kind = one_byte_ && opcode_ == 0xe8 ? InstructionKind::kCall : InstructionKind::kBranch;
  }

  const uint8_t* code_;
  size_t available_;
  uint64_t address_;
  size_t at_ = 0;
  uint8_t opcode_ = 0;
  bool one_byte_ = false;   // the opcode is of the map that no escape leads to
  bool operand16_ = false;  // 0x66
  bool wide_ = false;       // REX.W
};

}  // namespace

Instruction DecodeInstruction(const uint8_t* code, size_t available, uint64_t address) {
  return Decoder(code, available, address).Run();
}

bool IsLandingPad(const uint8_t* code, size_t available) {
  return available >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0;
}

}  // namespace recrash::watch
