#include "testgen/symbols/files/md5.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>

namespace recrash {
namespace {

constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

// RFC 1321: the sines of 1 to 64.
std::array<uint32_t, 64> Sines() {
  std::array<uint32_t, 64> sines{};
  for (size_t i = 0; i < sines.size(); ++i)
    sines[i] = static_cast<uint32_t>(std::floor(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
  return sines;
}

void AddBlock(const char* block, const std::array<uint32_t, 64>& sines, std::array<uint32_t, 4>& state) {
  uint32_t words[16];
  std::memcpy(words, block, sizeof words);
  auto [a, b, c, d] = state;
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t round = i / 16;
    uint32_t mixed = 0, word = i;
    if (round == 0) {
      mixed = (b & c) | (~b & d);
    } else if (round == 1) {
      mixed = (d & b) | (~d & c);
      word = 5 * i + 1;
    } else if (round == 2) {
      mixed = b ^ c ^ d;
      word = 3 * i + 5;
    } else {
      mixed = c ^ (b | ~d);
      word = 7 * i;
    }
    const uint32_t sum = a + mixed + sines[i] + words[word % 16];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[round][i % 4]);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

}  // namespace

std::array<uint8_t, 16> Md5(std::string_view text) {
  static const std::array<uint32_t, 64> sines = Sines();
  std::array<uint32_t, 4> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::string rest(text.substr(text.size() / 64 * 64));
  for (size_t at = 0; at + 64 <= text.size(); at += 64) AddBlock(text.data() + at, sines, state);
  rest += '\x80';
  while (rest.size() % 64 != 56) rest += '\0';
  const uint64_t bits = static_cast<uint64_t>(text.size()) * 8;
  rest.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  for (size_t at = 0; at < rest.size(); at += 64) AddBlock(rest.data() + at, sines, state);
  std::array<uint8_t, 16> digest{};
  std::memcpy(digest.data(), state.data(), digest.size());
  return digest;
}

}  // namespace recrash
