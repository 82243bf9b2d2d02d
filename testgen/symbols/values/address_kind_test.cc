// What addresses are, in invented reports and in a program that crashed.
#include "testgen/symbols/values/address_kind.h"

#include <gtest/gtest.h>

#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

constexpr char kProgram[] = R"(
#include <cstdlib>
#include <cstring>
struct Shape { virtual ~Shape() {} int id = 1; };
int table[4] = {1, 2, 3, 4};
char* volatile small;
int* volatile dead;
__attribute__((noinline)) void Deep() { int local[400]; dead = &local[0]; local[0] = 1; }
__attribute__((noinline)) int Crash(void* freed, char* live, void* behind, int* gone, void* vtable, int* global,
                                    char* text, int* stack) { return *(volatile int*)8; }
int main() {
  void* freed = malloc(24);
  void* large = malloc(5000);
  char* live = (char*)malloc(1000);
  malloc(16);
  free(freed);
  free(large);
  Deep();
  char* text;
  memcpy(&text, "name=val", 8);
  int local = 1;
  static Shape shape;
  return Crash(freed, live + 10, live + 1004, dead, *(void**)&shape, &table[2], text, &local);
}
)";

class Addresses : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fixture_ = new Fixture(kProgram, "-O0 -g -w");
    report_ = new Report(fixture_->Crash());
    for (const Mapping& mapping : report_->mappings) {
      if (mapping.path != "[heap]") continue;
      report_->process.brk_start = mapping.start;
      report_->process.brk_end = mapping.end;
    }
  }
  static void TearDownTestSuite() {
    delete report_;
    delete fixture_;
  }
  static AddressKind KindOf(const std::string& argument) {
    const auto symbols = Symbols::Open(*report_, {});
    const Backtrace backtrace = MustRead(*report_, *symbols);
    const TargetAddress address = {ValueOf(ParameterOf(FrameOf(backtrace, "Crash("), argument))};
    const ReportMemory memory(*report_, &symbols->modules());
    return AddressReader(memory, symbols->modules()).KindOf(address);
  }

  static Fixture* fixture_;
  static Report* report_;
};

Fixture* Addresses::fixture_ = nullptr;
Report* Addresses::report_ = nullptr;

TEST_F(Addresses, OfTheHeap) {
  EXPECT_EQ(KindOf("freed").clause, "in a freed heap block of 24 bytes");
  EXPECT_EQ(KindOf("live").clause, "in a live heap block of 1000 bytes");
  const AddressKind behind = KindOf("behind");
  EXPECT_EQ(behind.kind, AddressKind::kPastBlock) << behind.clause;
  EXPECT_TRUE(behind.clause.starts_with("behind the end of a heap block of 1000 bytes at 0x")) << behind.clause;
}

// A heap that does not add up says nothing: a header may have been overwritten anywhere.
TEST_F(Addresses, NothingOfADamagedHeap) {
  const TargetAddress end = report_->process.brk_end;
  report_->process.brk_end = end - 4096;
  EXPECT_EQ(KindOf("freed").kind, AddressKind::kUnknown);
  report_->process.brk_end = end;
}

TEST_F(Addresses, OfTheStack) {
  EXPECT_EQ(KindOf("gone").clause, "below the live stack: a dead local");
  EXPECT_EQ(KindOf("stack").clause, "on the stack");
}

TEST_F(Addresses, OfModules) {
  EXPECT_EQ(KindOf("vtable").clause, "a vtable of Shape");
  EXPECT_EQ(KindOf("global").clause, "table+0x8");
}

TEST_F(Addresses, OfText) {
  const AddressKind kind = KindOf("text");
  EXPECT_EQ(kind.clause, "the text \"name=val\"");
  EXPECT_TRUE(kind.is_bad());
}

TEST(TextInAddress, IsOnlyTextToItsEnd) {
  EXPECT_EQ(TextInAddress(0x6c61763d656d616e), "\"name=val\"");
  EXPECT_EQ(TextInAddress(0x6c6c6568), std::nullopt);  // "hell": four bytes can be a number
  EXPECT_EQ(TextInAddress(0x6f6c6c6568), "\"hello\"");
  EXPECT_EQ(TextInAddress(0x7ffe6f6c6c65), std::nullopt);
  EXPECT_EQ(TextInAddress(0), std::nullopt);
}

}  // namespace
}  // namespace recrash
