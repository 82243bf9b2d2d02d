// Instructions as a compiler writes them: their bytes are those of `llvm-mc -show-encoding`.
#include "testgen/symbols/values/memory_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace recrash {
namespace {

constexpr uint8_t kRax = 0, kRcx = 1, kRbp = 5, kRdi = 7, kR12 = 12, kR13 = 13;

std::optional<MemoryAccess> Access(const std::vector<uint8_t>& code) {
  return MemoryAccessOf(code, watch::DecodeInstruction(code.data(), code.size(), 0));
}

testing::Matcher<std::optional<MemoryAccess>> Is(uint8_t base, uint8_t index, uint8_t scale, int32_t displacement) {
  return testing::Optional(testing::AllOf(testing::Field("base", &MemoryAccess::base, base),
                                          testing::Field("index", &MemoryAccess::index, index),
                                          testing::Field("scale", &MemoryAccess::scale, scale),
                                          testing::Field("displacement", &MemoryAccess::displacement, displacement)));
}

TEST(MemoryAccess, IsASumOfRegisters) {
  EXPECT_THAT(Access({0x8b, 0x00}), Is(kRax, kNoRegister, 1, 0)) << "mov (%rax),%eax";
  EXPECT_THAT(Access({0x48, 0x8b, 0x47, 0x10}), Is(kRdi, kNoRegister, 1, 16)) << "mov 0x10(%rdi),%rax";
  EXPECT_THAT(Access({0x8b, 0x14, 0xc8}), Is(kRax, kRcx, 8, 0)) << "mov (%rax,%rcx,8),%edx";
  EXPECT_THAT(Access({0x8b, 0x14, 0x8d, 0xf0, 0xff, 0xff, 0xff}), Is(kNoRegister, kRcx, 4, -16))
      << "mov -0x10(,%rcx,4),%edx";
  EXPECT_THAT(Access({0x43, 0x8a, 0x04, 0x2c}), Is(kR12, kR13, 1, 0)) << "mov (%r12,%r13),%al";
  EXPECT_THAT(Access({0x8b, 0x85, 0x00, 0x01, 0x00, 0x00}), Is(kRbp, kNoRegister, 1, 256)) << "mov 0x100(%rbp),%eax";
  EXPECT_THAT(Access({0x41, 0xc7, 0x45, 0x00, 1, 0, 0, 0}), Is(kR13, kNoRegister, 1, 0)) << "movl $1,0(%r13)";
}

TEST(MemoryAccess, IsThatOfVectorInstructionsToo) {
  EXPECT_THAT(Access({0x0f, 0x10, 0x04, 0x08}), Is(kRax, kRcx, 1, 0)) << "movups (%rax,%rcx),%xmm0";
  EXPECT_THAT(Access({0xc5, 0xf8, 0x10, 0x00}), Is(kRax, kNoRegister, 1, 0)) << "vmovups (%rax),%xmm0";
  EXPECT_THAT(Access({0xc4, 0xc2, 0x79, 0x18, 0x04, 0x24}), Is(kR12, kNoRegister, 1, 0)) << "vbroadcastss (%r12),%xmm0";
  EXPECT_THAT(Access({0x0f, 0xb6, 0x47, 0x01}), Is(kRdi, kNoRegister, 1, 1)) << "movzbl 1(%rdi),%eax";
}

TEST(MemoryAccess, IsThereOnlyIfMemoryIsAccessed) {
  EXPECT_FALSE(Access({0x48, 0x8d, 0x47, 0x10})) << "lea 0x10(%rdi),%rax";
  EXPECT_FALSE(Access({0x0f, 0x1f, 0x44, 0x00, 0x00})) << "nopl (%rax,%rax)";
  EXPECT_FALSE(Access({0x0f, 0x18, 0x0f})) << "prefetcht0 (%rdi)";
  EXPECT_FALSE(Access({0x89, 0xc8})) << "mov %ecx,%eax";
  EXPECT_FALSE(Access({0x8b, 0x05, 1, 0, 0, 0})) << "mov 1(%rip),%eax: a global";
  EXPECT_FALSE(Access({0x64, 0x48, 0x8b, 0x00})) << "mov %fs:(%rax),%rax: a thread-local";
  EXPECT_FALSE(Access({0xc4, 0xe2, 0x79, 0x90, 0x04, 0x08})) << "vpgatherdd";
  EXPECT_FALSE(Access({0x48, 0x8b})) << "cut off";
}

}  // namespace
}  // namespace recrash
