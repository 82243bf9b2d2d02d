#include "testgen/symbols/values/memory_operand.h"

#include <gtest/gtest.h>

#include <vector>

namespace recrash {
namespace {

std::optional<MemoryOperand> Of(std::vector<uint8_t> code) { return MemoryOperandAt(code); }

TEST(MemoryOperand, HasTheRegisterAndTheDisplacement) {
  const auto load = Of({0x48, 0x8b, 0x47, 0x10});  // mov 0x10(%rdi),%rax
  ASSERT_TRUE(load);
  EXPECT_EQ(load->base, 5);
  EXPECT_EQ(load->displacement, 16);
  EXPECT_EQ(load->loads, 0);
  EXPECT_EQ(load->length, 4u);
  const auto local = Of({0x4c, 0x8b, 0x85, 0xf8, 0xff, 0xff, 0xff});  // mov -8(%rbp),%r8
  ASSERT_TRUE(local);
  EXPECT_EQ(local->base, 6);
  EXPECT_EQ(local->displacement, -8);
  EXPECT_EQ(local->loads, 8);
  EXPECT_EQ(Of({0x8b, 0x04, 0x24})->base, 7);               // mov (%rsp),%eax
  EXPECT_EQ(Of({0x8b, 0x00})->loads, std::nullopt);         // mov (%rax),%eax
  EXPECT_EQ(Of({0x41, 0x0f, 0xb6, 0x04, 0x24})->base, 12);  // movzbl (%r12),%eax
  EXPECT_EQ(Of({0xf2, 0x0f, 0x58, 0x43, 0x08})->base, 3);   // addsd 8(%rbx),%xmm0
}

TEST(MemoryOperand, SaysNothingOfOthers) {
  EXPECT_FALSE(Of({0x48, 0x8b, 0x05, 1, 0, 0, 0}));  // mov 1(%rip),%rax
  EXPECT_FALSE(Of({0x8b, 0x04, 0x87}));              // mov (%rdi,%rax,4),%eax
  EXPECT_FALSE(Of({0x48, 0x89, 0xc7}));              // mov %rax,%rdi
  EXPECT_FALSE(Of({0x62, 0xf1, 0x7c, 0x48, 0x10}));  // AVX-512
  EXPECT_FALSE(Of({0x48, 0x8b, 0x87, 1}));           // cut
  EXPECT_FALSE(Of({}));
}

}  // namespace
}  // namespace recrash
