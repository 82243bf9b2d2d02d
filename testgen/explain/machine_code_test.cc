#include "testgen/explain/machine_code.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace recrash::explain {
namespace {

CodeInstruction Decode(std::initializer_list<uint8_t> bytes) { return DecodeCode(std::vector<uint8_t>(bytes), 0x1000); }

TEST(MachineCode, LoadIsAMoveFromMemory) {
  const CodeInstruction load = Decode({0x48, 0x8b, 0x44, 0xcb, 0x10});  // mov rax, [rbx+rcx*8+0x10]
  EXPECT_EQ(load.kind, CodeKind::kMove);
  EXPECT_EQ(load.length, 5);
  EXPECT_TRUE(load.Writes(kRax));
  EXPECT_FALSE(load.Writes(kRcx));
  ASSERT_NE(load.Source(), nullptr);
  EXPECT_EQ(load.Source()->kind, CodeOperand::kMemory);
  EXPECT_EQ(load.Source()->base, 3);
  EXPECT_EQ(load.Source()->index, kRcx);
  EXPECT_EQ(load.Source()->scale, 8);
  EXPECT_EQ(load.Source()->displacement, 0x10);
  EXPECT_EQ(load.Source()->size, 8u);
}

TEST(MachineCode, AddressRelativeToTheInstructionIsAbsolute) {
  const CodeInstruction load = Decode({0x48, 0x8b, 0x05, 0x10, 0x00, 0x00, 0x00});  // mov rax, [rip+0x10]
  ASSERT_NE(load.Memory(), nullptr);
  EXPECT_EQ(load.Memory()->base, kNone);
  EXPECT_EQ(load.Memory()->displacement, 0x1017);
}

TEST(MachineCode, KindsThatHandAValueOnOtherwise) {
  EXPECT_EQ(Decode({0x31, 0xc0}).kind, CodeKind::kClear);                // xor eax, eax
  EXPECT_EQ(Decode({0x31, 0xc8}).kind, CodeKind::kOther);                // xor eax, ecx
  EXPECT_EQ(Decode({0x24, 0x01}).kind, CodeKind::kMask);                 // and al, 1
  EXPECT_EQ(Decode({0x48, 0x8d, 0x47, 0x08}).kind, CodeKind::kAddress);  // lea rax, [rdi+8]
  EXPECT_EQ(Decode({0x48, 0x0f, 0x44, 0xc1}).kind, CodeKind::kChoose);   // cmove rax, rcx
  EXPECT_EQ(Decode({0x0f, 0x94, 0xc0}).kind, CodeKind::kSet);            // sete al
  EXPECT_EQ(Decode({0x55}).kind, CodeKind::kPush);                       // push rbp
  EXPECT_EQ(Decode({0x5d}).kind, CodeKind::kPop);                        // pop rbp
  EXPECT_EQ(Decode({0x0f, 0x0b}).kind, CodeKind::kStop);                 // ud2
  EXPECT_EQ(Decode({0xc3}).kind, CodeKind::kReturn);                     // ret
  EXPECT_EQ(Decode({0x48, 0x85, 0xff}).kind, CodeKind::kCompare);        // test rdi, rdi
  EXPECT_EQ(Decode({0x0f, 0x10, 0x07}).kind, CodeKind::kMove);           // movups xmm0, [rdi]
  EXPECT_EQ(Decode({0xf3, 0x0f, 0x58, 0xc1}).kind, CodeKind::kOther);    // addss xmm0, xmm1
  EXPECT_EQ(Decode({0xf3, 0x48, 0xa5}).kind, CodeKind::kString);         // rep movsq
  EXPECT_TRUE(Decode({0xf3, 0x48, 0xa5}).repeats);
}

TEST(MachineCode, FlagsAreReadAndWritten) {
  EXPECT_TRUE(Decode({0x48, 0x39, 0xc8}).writes_flags);  // cmp rax, rcx
  const CodeInstruction branch = Decode({0x74, 0x10});   // je
  EXPECT_EQ(branch.kind, CodeKind::kBranch);
  EXPECT_TRUE(branch.reads_flags);
  EXPECT_EQ(branch.operands.front().immediate, 0x1012);
}

TEST(MachineCode, BytesThatAreNoneHaveNoLength) {
  EXPECT_EQ(Decode({}).length, 0);
  EXPECT_EQ(Decode({0x06}).length, 0);
}

}  // namespace
}  // namespace recrash::explain
