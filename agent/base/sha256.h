// SHA-256 (FIPS 180-4): tells whether a file is the one that a report speaks of.
#ifndef RECRASH_AGENT_BASE_SHA256_H_
#define RECRASH_AGENT_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace recrash {

class Sha256 {
 public:
  Sha256();
  void Append(std::span<const uint8_t> bytes);
  // 64 lower-case hexadecimal digits; nothing may be appended any more.
  std::string Finish();

 private:
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> pending_{};
  uint64_t length_ = 0;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_SHA256_H_
