// Written after the opcode maps of Intel's manual, volume 2, appendix A, 64-bit mode.
#include "agent/client/watch/instruction.h"

#include <string.h>

namespace recrash::watch {
namespace {

constexpr size_t kLongest = 15;

// What follows an opcode.
using Shape = uint8_t;
enum : Shape {
  kUnknown = 0,
  kNone = 1,  // nothing
  kModRm = 2,
  kByte = 4,  // an immediate of one byte
  kWord = 8,  // of four, or two under 0x66
  kRelative8 = 16,
  kRelative32 = 32,
  kEnds = 64,     // control goes elsewhere
  kPrefix = 128,  // the opcode itself
};

struct Opcodes {
  uint8_t first, last;
  Shape shape;
};

// The arithmetic of 00..3f is not among them. Nor is what the decoder knows itself: REX (40..4f), the eight bytes of
// b8..bf with REX.W, and the immediate that f6 and f7 have for /0 and /1.
constexpr Opcodes kOneByte[] = {
    {0x26, 0x26, kPrefix},        {0x2e, 0x2e, kPrefix},        {0x36, 0x36, kPrefix},
    {0x3e, 0x3e, kPrefix},        {0x50, 0x5f, kNone},          {0x63, 0x63, kModRm},
    {0x64, 0x66, kPrefix},        {0x68, 0x68, kWord},          {0x69, 0x69, kModRm | kWord},
    {0x6a, 0x6a, kByte},          {0x6b, 0x6b, kModRm | kByte}, {0x70, 0x7f, kRelative8},
    {0x80, 0x80, kModRm | kByte}, {0x81, 0x81, kModRm | kWord}, {0x83, 0x83, kModRm | kByte},
    {0x84, 0x8f, kModRm},         {0x90, 0x99, kNone},          {0x9b, 0x9f, kNone},
    {0xa4, 0xa7, kNone},          {0xa8, 0xa8, kByte},          {0xa9, 0xa9, kWord},
    {0xaa, 0xaf, kNone},          {0xb0, 0xb7, kByte},          {0xb8, 0xbf, kWord},
    {0xc0, 0xc1, kModRm | kByte}, {0xc3, 0xc3, kNone | kEnds},  {0xc6, 0xc6, kModRm | kByte},
    {0xc7, 0xc7, kModRm | kWord}, {0xc9, 0xc9, kNone},          {0xcc, 0xcc, kNone | kEnds},
    {0xd0, 0xd3, kModRm},         {0xd8, 0xdf, kModRm},         {0xe0, 0xe3, kRelative8},
    {0xe8, 0xe9, kRelative32},    {0xeb, 0xeb, kRelative8},     {0xf0, 0xf0, kPrefix},
    {0xf2, 0xf3, kPrefix},        {0xf5, 0xf5, kNone},          {0xf6, 0xf7, kModRm},
    {0xf8, 0xf9, kNone},          {0xfc, 0xfd, kNone},          {0xfe, 0xff, kModRm},
};

// Behind 0f.
constexpr Opcodes kTwoByte[] = {
    {0x01, 0x01, kModRm},         {0x05, 0x05, kNone},          {0x0b, 0x0b, kNone | kEnds},
    {0x0d, 0x0d, kModRm},         {0x10, 0x1f, kModRm},         {0x28, 0x2f, kModRm},
    {0x31, 0x31, kNone},          {0x40, 0x6f, kModRm},         {0x70, 0x73, kModRm | kByte},
    {0x74, 0x76, kModRm},         {0x77, 0x77, kNone},          {0x7c, 0x7f, kModRm},
    {0x80, 0x8f, kRelative32},    {0x90, 0x9f, kModRm},         {0xa2, 0xa2, kNone},
    {0xa3, 0xa3, kModRm},         {0xa4, 0xa4, kModRm | kByte}, {0xa5, 0xa5, kModRm},
    {0xab, 0xab, kModRm},         {0xac, 0xac, kModRm | kByte}, {0xad, 0xb9, kModRm},
    {0xba, 0xba, kModRm | kByte}, {0xbb, 0xc1, kModRm},         {0xc2, 0xc2, kModRm | kByte},
    {0xc3, 0xc3, kModRm},         {0xc4, 0xc6, kModRm | kByte}, {0xc7, 0xc7, kModRm},
    {0xc8, 0xcf, kNone},          {0xd0, 0xfe, kModRm},
};

// A map by opcode, made when this is compiled.
struct Map {
  template <size_t N>
  constexpr explicit Map(const Opcodes (&rows)[N]) {
    for (const Opcodes& row : rows)
      for (unsigned opcode = row.first; opcode <= row.last; ++opcode) shapes[opcode] = row.shape;
  }

  Shape shapes[256] = {};
};

constexpr Map kTwoByteMap(kTwoByte);
constexpr Map kOneByteMap = [] {
  // Six forms of each of eight operations.
  constexpr Shape kArithmetic[8] = {kModRm, kModRm, kModRm, kModRm, kByte, kWord, kUnknown, kUnknown};
  Map map(kOneByte);
  for (unsigned opcode = 0; opcode < 0x40; ++opcode)
    if (map.shapes[opcode] == kUnknown) map.shapes[opcode] = kArithmetic[opcode % 8];
  return map;
}();

// Vector encodings: the map says what the opcode means; an immediate comes where the map of SSE has one.
Shape VectorShape(unsigned map, uint8_t opcode) {
  if (map == 1 && opcode == 0x77) return kNone;  // vzeroupper
  if (map == 1 && (kTwoByteMap.shapes[opcode] & kModRm) != 0) return kTwoByteMap.shapes[opcode];
  if (map == 3) return kModRm | kByte;
  return map == 1 || map == 2 || map == 5 || map == 6 ? kModRm : kUnknown;
}

class Decoder {
 public:
  Decoder(const uint8_t* code, size_t available, uint64_t address)
      : code_(code), available_(available < kLongest ? available : kLongest), address_(address) {}

  Instruction Run() {
    Instruction instruction;
    if (!ReadPrefixes()) return instruction;
    const Shape shape = ReadOpcode();
    if (shape == kUnknown || shape == kPrefix || !ReadOperands(shape, &instruction) || at_ > available_)
      return Instruction();
    instruction.size = static_cast<uint8_t>(at_);
    if ((shape & (kRelative8 | kRelative32)) != 0) SetTarget(shape, &instruction);
    return instruction;
  }

 private:
  bool ReadPrefixes() {
    for (; at_ < available_ && kOneByteMap.shapes[code_[at_]] == kPrefix; ++at_)
      operand16_ = operand16_ || code_[at_] == 0x66;
    if (at_ < available_ && (code_[at_] & 0xf0) == 0x40) wide_ = (code_[at_++] & 8) != 0;  // REX, always the last
    return at_ < available_;
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
    if (opcode_ != 0x0f) return one_byte_ = true, kOneByteMap.shapes[opcode_];
    opcode_ = Next();
    if (opcode_ == 0x38) return Next(), kModRm;
    if (opcode_ == 0x3a) return Next(), kModRm | kByte;
    return kTwoByteMap.shapes[opcode_];
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
    instruction->modrm = static_cast<uint8_t>(at_);
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
