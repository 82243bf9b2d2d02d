// A program whose pointer has lost a bit, and what else might look so.
#include "testgen/flips/flips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "testgen/flips/flipped_code.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kList[] = R"(
#include <cstdint>
#include <cstdlib>
#include <cstring>
struct Node { int value; Node* next; };
__attribute__((noinline)) int SumOf(const Node* node) {
  int sum = 0;
  for (; node != nullptr; node = node->next) sum += node->value;
  return sum;
}
Node* g_first;
int main(int, char** arguments) {
  g_first = new Node{1, new Node{2, new Node{3, nullptr}}};
  uint64_t word;
  memcpy(&word, &g_first->next->next, sizeof word);
  word ^= uint64_t{1} << atoi(arguments[1]);
  memcpy(&g_first->next->next, &word, sizeof word);
  return SumOf(g_first);
}
)";

class Flipped : public testing::Test {
 protected:
  explicit Flipped(int bit = 40) : program_(kList, "-O2 -g", {std::to_string(bit)}) {}

  std::optional<FlippedPointer> Find() const {
    const Result<Symbols> symbols = Symbols::Open(report(), {});
    return FindFlippedPointer(report(), *symbols, MustRead(report(), *symbols).frames);
  }
  Report& report() { return program_.report(); }
  const Report& report() const { return program_.report(); }
  Registers& registers() { return std::ranges::find(report().threads, true, &Thread::failing)->registers; }
  // Puts a word into memory that the report holds, far from the stack.
  void Put(uint64_t word) {
    std::vector<uint8_t>& bytes = report().memory.front().bytes;
    std::memcpy(&bytes[bytes.size() - 2 * sizeof word], &word, sizeof word);
  }
  std::optional<std::string> Prove(const FlippedPointer& pointer) const;

  ReplayedProgram program_;
};

class NotCanonical : public Flipped {
 protected:
  NotCanonical() : Flipped(62) {}
};

TEST_F(Flipped, IsFoundWithItsObject) {
  const auto found = Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bit, 40);
  EXPECT_EQ(found->right(), found->object.start);
  EXPECT_EQ(found->object.end - found->object.start, 24u);
  EXPECT_FALSE(found->is_function);
}

TEST_F(Flipped, IsNoneWhereAnIndexWasWrong) {
  registers().dwarf[12] = uint64_t{1} << 38;  // of elements of four bytes
  EXPECT_FALSE(Find());
}

TEST_F(Flipped, IsNoneBehindUsedMemory) {
  Mapping before;
  before.end = {report().failure.address.value & ~uint64_t{4095}};
  before.start = before.end - 4096;
  before.flags = kMapRead;
  report().mappings.push_back(before);
  std::ranges::sort(report().mappings, {}, &Mapping::start);
  EXPECT_FALSE(Find());
}

TEST_F(Flipped, IsNoneWhereTwoBitsLeadToObjects) {
  const auto found = Find();
  ASSERT_TRUE(found);
  Mapping other = *report().FindMapping({registers().sp()});
  const uint64_t page = (found->value ^ uint64_t{1} << 35) & ~uint64_t{4095};
  other.start = {page};
  other.end = {page + 4096};
  other.path = "";
  report().mappings.push_back(other);
  std::ranges::sort(report().mappings, {}, &Mapping::start);
  // A large block of glibc's, with pages of its own.
  std::vector<uint8_t> block(4096);
  block[8] = 2;
  block[9] = 0x10;
  report().memory.push_back({{page}, block});
  std::ranges::sort(report().memory, {}, &Region::address);
  EXPECT_FALSE(Find());
}

TEST_F(Flipped, IsNoneInAFreedBlock) {
  const auto found = Find();
  ASSERT_TRUE(found);
  // The heap does not add up any more: nobody knows what is live.
  for (Region& region : report().memory) {
    const uint64_t header = found->object.start - 8;
    if (header < region.address.value || header - region.address.value >= region.bytes.size()) continue;
    region.bytes[header - region.address.value] = 0x91;
  }
  EXPECT_FALSE(Find());
}

TEST_F(Flipped, IsNoneBelowAStack) {
  Mapping stack;
  stack.start = {(report().failure.address.value & ~uint64_t{4095}) + (8 << 20)};
  stack.end = stack.start + 4096;
  stack.flags = kMapRead | kMapWrite;
  report().mappings.push_back(stack);
  std::ranges::sort(report().mappings, {}, &Mapping::start);
  EXPECT_TRUE(Find());
  Thread other;
  other.registers.dwarf[7] = stack.start.value + 64;
  report().threads.push_back(other);
  EXPECT_FALSE(Find());
}

TEST_F(Flipped, IsNoneWhereTheArgumentHasNoRoom) {
  const Result<Symbols> symbols = Symbols::Open(report(), {});
  Frame frame;
  Parameter& parameter = frame.parameters.emplace_back();
  parameter.bytes.resize(sizeof(uint64_t));
  std::memcpy(parameter.bytes.data(), &report().failure.address.value, sizeof(uint64_t));
  parameter.type.kind = TypeKind::kPointer;
  parameter.type.pointee.resize(1);
  parameter.type.pointee[0].size = 24;  // as the block has
  EXPECT_TRUE(FindFlippedPointer(report(), *symbols, std::span(&frame, 1)));
  parameter.type.pointee[0].size = 25;
  EXPECT_FALSE(FindFlippedPointer(report(), *symbols, std::span(&frame, 1)));
}

TEST_F(Flipped, IsNoneWithoutAFault) {
  report().failure.code = 0;  // somebody sent the signal
  EXPECT_FALSE(Find());
}

TEST_F(NotCanonical, IsFound) {
  const auto found = Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bit, 62);
}

TEST_F(NotCanonical, IsNoneWhereTheProgramMarksPointersSo) {
  Put((uint64_t{1} << 62) | registers().sp());
  EXPECT_FALSE(Find());
}

std::optional<std::string> Flipped::Prove(const FlippedPointer& pointer) const {
  const Backtrace backtrace = MustRead(report());
  const Frame& frame = FrameOf(backtrace, "SumOf(");
  VerifyOptions options;
  options.program = program_.fixture().path();
  options.support_directory = RECRASH_TEST_SUPPORT_DIRECTORY;
  const FrameVerdict verdict = program_.Verify("SumOf");
  const ReturnOfFailing failing = {frame.index, {*report().ReadWord(frame.entry_sp)}, frame.entry_sp};
  const Result<Cure> cure = PutRight(program_.report(), pointer, failing, {{frame.index, verdict.start}}, options);
  if (!cure) return cure.error().message;
  return cure->returns ? "returns" : "fails";
}

TEST_F(Flipped, IsProvedByAReplay) {
  const auto found = Find();
  ASSERT_TRUE(found);
  EXPECT_EQ(Prove(*found), "returns");
}

// The other bit that a guess might take leads nowhere, either.
TEST_F(Flipped, IsNotProvedByTheWrongBit) {
  auto found = Find();
  ASSERT_TRUE(found);
  found->bit = 41;
  EXPECT_EQ(Prove(*found), "fails");
}

TEST_F(Flipped, IsNotProvedWhereTheReplayFailsElsewhere) {
  auto found = Find();
  ASSERT_TRUE(found);
  registers().dwarf[16] += 1;
  EXPECT_EQ(Prove(*found), "the replay did not come to the failure");
}

// ---- Code

class FlippedCodeText : public Flipped {
 protected:
  std::vector<std::string> Text() const {
    const Result<Symbols> symbols = Symbols::Open(report(), {});
    return FlippedCode(report(), *symbols);
  }
};

TEST_F(FlippedCodeText, IsNoneOfCodeAsInItsFile) { EXPECT_THAT(Text(), IsEmpty()); }

TEST_F(FlippedCodeText, SaysWhere) {
  report().code.flipped = {{report().failure.pc, 0x48, 0x4a}};
  ASSERT_THAT(Text(), SizeIs(1));
  EXPECT_THAT(Text()[0], HasSubstr("bit 1 of the byte of code at program+0x"));
  EXPECT_THAT(Text()[0], HasSubstr(", in SumOf at program.cc:8, was flipped (0x48 in the file, 0x4a in memory)"));
}

TEST_F(FlippedCodeText, IsFoundInKeptCode) {
  std::vector<Region>& kept = report().code.kept;
  ASSERT_FALSE(kept.empty());
  kept[0].bytes[7] ^= 0x20;
  ASSERT_THAT(Text(), SizeIs(1));
  EXPECT_THAT(Text()[0], HasSubstr("bit 5 of the byte"));
  // Of code that something has patched nobody knows.
  report().code.changed = 1;
  EXPECT_THAT(Text(), IsEmpty());
}

TEST_F(FlippedCodeText, IsNotSaidOfManyBytes) {
  for (uint64_t i = 0; i < 9; ++i) report().code.flipped.push_back({report().failure.pc + i * 4096, 0x48, 0x4a});
  EXPECT_THAT(Text(), testing::ElementsAre(HasSubstr("9 bytes of code have one bit that is not as in the file")));
}

TEST_F(FlippedCodeText, IsNoneWithoutABuildId) {
  report().code.kept[0].bytes[7] ^= 0x20;
  std::ranges::find(report().modules, true, &Module::is_program)->build_id.clear();
  EXPECT_THAT(Text(), IsEmpty());
}

}  // namespace
}  // namespace recrash
