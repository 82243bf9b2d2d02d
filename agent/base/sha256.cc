// In plain C++. A crashed program waits for the hashes of at most 64 MiB of inputs, which take 260 ms.
#include "agent/base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "agent/base/text.h"

namespace recrash {
namespace {

constexpr size_t kBlock = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t BigEndian(const uint8_t* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return __builtin_bswap32(word);
}

void Mix(uint32_t* state, const uint8_t* bytes, size_t blocks) {
  for (; blocks > 0; --blocks, bytes += kBlock) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i) w[i] = BigEndian(bytes + 4 * i);
    for (int i = 16; i < 64; ++i) {
      const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] =
        std::to_array<uint32_t>({state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]});
    for (int i = 0; i < 64; ++i) {
      const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const uint32_t mixed[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state[i] += mixed[i];
  }
}

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::Append(std::span<const uint8_t> bytes) {
  const size_t filled = length_ % kBlock;
  length_ += bytes.size();
  if (filled > 0) {
    const size_t part = std::min(bytes.size(), kBlock - filled);
    std::copy_n(bytes.begin(), part, pending_.begin() + filled);
    bytes = bytes.subspan(part);
    if (filled + part < kBlock) return;
    Mix(state_.data(), pending_.data(), 1);
  }
  Mix(state_.data(), bytes.data(), bytes.size() / kBlock);
  std::ranges::copy(bytes.last(bytes.size() % kBlock), pending_.begin());
}

std::string Sha256::Finish() {
  const uint64_t bits = __builtin_bswap64(length_ * 8);
  const size_t filled = length_ % kBlock;
  std::array<uint8_t, 2 * kBlock> end{0x80};
  const size_t zeros = (filled < kBlock - 8 ? kBlock : 2 * kBlock) - filled - 8;
  std::memcpy(end.data() + zeros, &bits, sizeof bits);
  Append(std::span(end).first(zeros + 8));
  for (uint32_t& word : state_) word = __builtin_bswap32(word);
  return Hex({reinterpret_cast<const uint8_t*>(state_.data()), sizeof state_});
}

}  // namespace recrash
