#include "testgen/symbols/dwarf/leaves.h"

#include <gtest/gtest.h>

#include "testgen/symbols/symbols.h"
#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

// Each leaf as a letter with its offset: v, a address, o opaque. "none" if they are not known.
std::string Leaves(const std::string& types, const std::string& name) {
  const Fixture program(types + "\n" + name + " object; int main() { __builtin_trap(); return sizeof object; }\n",
                        "-O0 -g");
  const Report report = program.Crash();
  const Result<Symbols> symbols = Symbols::Open(report, {});
  if (!symbols) return symbols.error().message;
  DebugInfo& debug = *symbols->code().DebugOf(symbols->modules().program());
  const auto type = debug.TypeNamed(name);
  const auto leaves = type ? LeavesOf(debug, *type) : std::nullopt;
  if (!leaves) return "none";
  std::string text;
  for (const Leaf& leaf : *leaves)
    text +=
        (text.empty() ? "" : " ") + std::string(1, "vao"[static_cast<size_t>(leaf.kind)]) + std::to_string(leaf.offset);
  return text;
}

TEST(Leaves, AreTheScalarsAndAddressesInBasesAndMembers) {
  EXPECT_EQ(Leaves("struct Base { long a; char* b; }; struct T : Base { int c; struct { int* d; } e; };", "T"),
            "v0 a8 v16 a24");
}

TEST(Leaves, OfAClassWithVirtualFunctionsBeginWithAnAddress) {
  EXPECT_EQ(Leaves("struct T { virtual int f() { return 0; } int a = 1; };", "T"), "a0 v8");
}

TEST(Leaves, OfArraysAreThoseOfEachElement) {
  EXPECT_EQ(Leaves("struct T { int* a[2]; char text[8]; };", "T"), "a0 a8 v16");
}

// Nobody knows which member a union has, nor what lies in the bytes of a bit-field.
TEST(Leaves, OfUnionsAndBitFieldsAreOpaque) {
  EXPECT_EQ(Leaves("struct T { union { long a; char* b; } c; int d : 3; };", "T"), "o0 o8");
}

// A static member lies elsewhere; an empty one nowhere.
TEST(Leaves, LeaveOutWhatIsNotInTheObject) {
  EXPECT_EQ(Leaves("struct Empty {}; struct T : Empty { static inline int a = 1; Empty b; int c; };", "T"), "v4");
}

TEST(Leaves, OfAVirtualBaseAreNotKnown) {
  EXPECT_EQ(Leaves("struct Base { int a = 1; }; struct T : virtual Base { int b = 1; };", "T"), "none");
}

}  // namespace
}  // namespace recrash
