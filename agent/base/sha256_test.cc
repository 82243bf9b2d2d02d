#include "agent/base/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace recrash {
namespace {

std::string Hash(const std::string& text) {
  Sha256 hash;
  hash.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return hash.Finish();
}

// The examples of FIPS 180-4's validation, and the empty text.
TEST(Sha256, IsTheOneOfTheStandard) {
  EXPECT_EQ(Hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Hash(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// However the bytes come, across the ends of blocks too.
TEST(Sha256, DoesNotDependOnThePieces) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += static_cast<char>(i * 7);
  const std::string whole = Hash(text);
  for (size_t piece = 1; piece < 200; ++piece) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece) {
      const std::string part = text.substr(at, piece);
      hash.Append({reinterpret_cast<const uint8_t*>(part.data()), part.size()});
    }
    EXPECT_EQ(hash.Finish(), whole) << piece;
  }
}

}  // namespace
}  // namespace recrash
