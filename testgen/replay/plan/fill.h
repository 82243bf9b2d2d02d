// What an experiment puts in the place of memory: bytes that no program has there by chance, zeros, or one value. The
// replay library writes them; two replays find the same, however memory is cut into pieces. C++17.
//
//   for (uint64_t i = 0; i < piece.size; ++i) Put(piece.address + i, FillByte(fill, piece.address, i));
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_FILL_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_FILL_H_

#include <cstdint>

namespace recrash::plan {

struct Fill {
  enum Kind : uint32_t {
    kByte = 0,
    kRandom = 1,
    kNumber = 2,  // in each piece: a number, from its first byte on
    kZeros = 3,   // the same of the address of memory that holds zeros
  };
  uint32_t kind = kByte;
  uint32_t byte = 0;  // kByte
  uint64_t seed = 0;  // kRandom; kNumber: the number
  bool operator==(const Fill& other) const { return kind == other.kind && byte == other.byte && seed == other.seed; }
};

// Bytes that a replay finds filled. Addresses below kEndOfRegisters stand for registers of the call.
struct Piece {
  uint64_t address;
  uint64_t size;
};

constexpr uint64_t kEndOfRegisters = 1024;
constexpr uint64_t kRegisterStride = 16;
// Register `location`, an abi::Location, at its first byte.
constexpr uint64_t RegisterAddress(uint32_t location) { return location * kRegisterStride; }

// The byte at `offset` of a piece that begins at `start`. Random ones are splitmix64 of the word that they lie in.
inline uint8_t FillByte(const Fill& fill, uint64_t start, uint64_t offset) {
  if (fill.kind == Fill::kByte) return static_cast<uint8_t>(fill.byte);
  if (fill.kind != Fill::kRandom) return offset < 8 ? static_cast<uint8_t>(fill.seed >> (offset * 8)) : 0;
  const uint64_t address = start + offset;
  uint64_t word = fill.seed * 0x9e3779b97f4a7c15ull + address / 8 + 0x9e3779b97f4a7c15ull;
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ word >> 27) * 0x94d049bb133111ebull;
  word ^= word >> 31;
  return static_cast<uint8_t>(word >> (address % 8 * 8));
}

}  // namespace recrash::plan

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_FILL_H_
