#include "agent/client/watch/instruction.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace recrash::watch {
namespace {

Instruction Decode(const std::vector<uint8_t>& bytes) { return DecodeInstruction(bytes.data(), bytes.size(), 0x1000); }

TEST(Instruction, TellsKindAndTarget) {
  EXPECT_EQ(Decode({0xeb, 0x10}).kind, InstructionKind::kBranch);
  EXPECT_EQ(Decode({0xeb, 0x10}).target, 0x1012u);
  EXPECT_EQ(Decode({0x0f, 0x84, 0xfa, 0xff, 0xff, 0xff}).target, 0x1000u);
  EXPECT_EQ(Decode({0xe8, 0, 0, 0, 0}).kind, InstructionKind::kCall);
  EXPECT_EQ(Decode({0xc3}).kind, InstructionKind::kLeaves);
  EXPECT_EQ(Decode({0xff, 0xe0}).kind, InstructionKind::kLeaves);     // jmp *rax
  EXPECT_EQ(Decode({0xff, 0xf0}).kind, InstructionKind::kPlain);      // push rax
  EXPECT_EQ(Decode({0x8b, 0x05, 1, 2, 3, 4}).displacement, 2);        // mov eax, [rip + …]
  EXPECT_EQ(Decode({0x8b, 0x04, 0x25, 1, 2, 3, 4}).displacement, 0);  // mov eax, [absolute]
  EXPECT_EQ(Decode({0x81, 0x3d, 1, 2, 3, 4, 5, 6, 7, 8}).displacement, 2);
}

TEST(Instruction, EndsWhereTheBytesDo) {
  const std::vector<uint8_t> code = {0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00};  // sub rsp, 4096
  for (size_t size = 0; size < code.size(); ++size)
    EXPECT_EQ(Decode({code.begin(), code.begin() + static_cast<long>(size)}).size, 0) << size;
  EXPECT_EQ(Decode(code).size, 7);
  EXPECT_EQ(Decode(std::vector<uint8_t>(15, 0x66)).size, 0);
}

// Every instruction of a program, libstdc++'s and compiler-made ones alike, against a disassembler. What is not known
// would be refused; what has another size would break programs.
TEST(Instruction, SizesAreThoseOfADisassembler) {
  FILE* listing = popen(RECRASH_TEST_OBJDUMP " -d --section=.text " RECRASH_TEST_LARGE_PROGRAM, "r");
  ASSERT_NE(listing, nullptr);
  char* line = nullptr;
  size_t room = 0;
  size_t known = 0, unknown = 0, wrong = 0;
  while (getline(&line, &room, listing) > 0) {
    char* at = strchr(line, ':');
    char* mnemonic = at != nullptr ? strchr(at, '\t') : nullptr;
    if (mnemonic == nullptr) continue;
    std::vector<uint8_t> bytes;
    for (char* next = ++at; next < mnemonic; at = next) {
      const unsigned long byte = strtoul(at, &next, 16);
      if (next == at || next > mnemonic) break;
      bytes.push_back(static_cast<uint8_t>(byte));
    }
    // A lock prefix has a line of its own.
    if (bytes.empty() || bytes == std::vector<uint8_t>{0xf0} || strstr(mnemonic, "<unknown>") != nullptr) continue;
    std::vector<uint8_t> padded = bytes;
    padded.resize(bytes.size() + 16, 0x90);
    const Instruction instruction = DecodeInstruction(padded.data(), padded.size(), 0);
    ++(instruction.size == 0 ? unknown : known);
    if (instruction.size == 0 || instruction.size == bytes.size()) continue;
    if (++wrong < 10) ADD_FAILURE() << int{instruction.size} << " bytes for: " << line;
  }
  free(line);
  EXPECT_EQ(pclose(listing), 0);
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(known, 100000u);
  EXPECT_LT(unknown, known / 1000);
  RecordProperty("known", static_cast<int>(known));
  RecordProperty("unknown", static_cast<int>(unknown));
}

}  // namespace
}  // namespace recrash::watch
