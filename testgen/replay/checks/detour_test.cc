#include "testgen/replay/checks/detour.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <vector>

namespace recrash::replay {
namespace {

using Function = uint64_t(uint64_t);

uint64_t Other(uint64_t value) { return value + 1000; }

// A function made of these bytes. UBSan looks at the words before a function that is called by its address.
Function* Make(const std::vector<uint8_t>& code) {
  constexpr size_t kBefore = 64;
  void* page = mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint8_t* function = static_cast<uint8_t*>(page) + kBefore;
  std::memcpy(function, code.data(), code.size());
  return reinterpret_cast<Function*>(function);
}

// endbr64; push rbp; mov rbp, rsp; push r15; sub rsp, 8; lea rax, [rdi + 1]; add rsp, 8; pop r15; pop rbp; ret
const std::vector<uint8_t> kAddsOne = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x48, 0x83, 0xec,
                                       0x08, 0x48, 0x8d, 0x47, 0x01, 0x48, 0x83, 0xc4, 0x08, 0x41, 0x5f, 0x5d, 0xc3};

TEST(Detour, LeadsCallsElsewhereAndKeepsTheFunction) {
  for (const size_t skipped : {0, 4}) {
    Function* function = Make({kAddsOne.begin() + static_cast<long>(skipped), kAddsOne.end()});
    ASSERT_EQ(function(1), 2u);
    uint64_t original = 0;
    ASSERT_TRUE(Detour(reinterpret_cast<uint64_t>(function), reinterpret_cast<uint64_t>(&Other), &original));
    EXPECT_EQ(function(1), 1001u);
    EXPECT_EQ(reinterpret_cast<Function*>(original)(1), 2u);
  }
}

// Where the function is a jump already, what it led to is the original.
TEST(Detour, ReplacesAJump) {
  std::vector<uint8_t> code = {0xe9, 11, 0, 0, 0};
  code.resize(16, 0xcc);
  code.insert(code.end(), kAddsOne.begin(), kAddsOne.end());
  Function* function = Make(code);
  ASSERT_EQ(function(1), 2u);
  uint64_t original = 0;
  ASSERT_TRUE(Detour(reinterpret_cast<uint64_t>(function), reinterpret_cast<uint64_t>(&Other), &original));
  EXPECT_EQ(function(1), 1001u);
  EXPECT_EQ(original, reinterpret_cast<uint64_t>(function) + 16);
}

// Bytes that do something else in another place stay.
TEST(Detour, LeavesAloneWhatItDoesNotKnow) {
  const std::vector<uint8_t> relative = {0x55, 0x48, 0x8b, 0x05, 1, 0, 0, 0, 0xc3};  // mov rax, [rip + 1]
  Function* function = Make(relative);
  uint64_t original = 0;
  EXPECT_FALSE(Detour(reinterpret_cast<uint64_t>(function), reinterpret_cast<uint64_t>(&Other), &original));
  EXPECT_EQ(std::memcmp(reinterpret_cast<const void*>(function), relative.data(), relative.size()), 0);
  EXPECT_FALSE(Detour(reinterpret_cast<uint64_t>(Make({0xc3})), reinterpret_cast<uint64_t>(&Other), &original));
}

}  // namespace
}  // namespace recrash::replay
