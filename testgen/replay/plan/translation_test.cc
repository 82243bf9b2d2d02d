#include "testgen/replay/plan/translation.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

Symbol Function(uint64_t offset, const std::string& name) { return {offset, 16, true, name}; }
Symbol Object(uint64_t offset, uint64_t size, const std::string& name) { return {offset, size, false, name}; }

TranslatedSymbol Only(const ModuleTranslation& translation, const std::string& name) {
  for (const TranslatedSymbol& symbol : translation.symbols()) {
    if (symbol.name == name) return symbol;
  }
  return {};
}

TEST(ModuleTranslation, FindsByName) {
  const ModuleTranslation translation({Function(0x10, "f"), Object(0x100, 8, "counter")},
                                      {Object(0x900, 8, "counter"), Function(0x50, "f")});
  EXPECT_EQ(translation.FindFunction(0x10, "f")->first, 0x50u);
  EXPECT_EQ(Only(translation, "counter").new_offset, 0x900u);
}

// `static int count` in two files, and two of one name in one file (a static inside two functions).
TEST(ModuleTranslation, TellsLocalsByFileAndThenByOrder) {
  const ModuleTranslation translation(
      {Object(0x10, 4, "n@a.cc"), Object(0x20, 4, "n@b.cc"), Object(0x30, 4, "n@b.cc")},
      {Object(0x70, 4, "n@b.cc"), Object(0x80, 4, "n@b.cc"), Object(0x90, 4, "n@a.cc")});
  ASSERT_EQ(translation.symbols().size(), 3u);
  EXPECT_EQ(translation.symbols()[0].new_offset, 0x90u);
  EXPECT_EQ(translation.symbols()[1].new_offset, 0x70u);
  EXPECT_EQ(translation.symbols()[2].new_offset, 0x80u);
}

TEST(ModuleTranslation, FollowsALocalIntoARenamedFileWhenItIsTheOnlyOne) {
  const ModuleTranslation translation(
      {Object(0x10, 4, "n@a.cc"), Object(0x20, 4, "m@a.cc")},
      {Object(0x50, 4, "n@c.cc"), Object(0x60, 4, "m@c.cc"), Object(0x70, 4, "m@d.cc")});
  EXPECT_TRUE(Only(translation, "n@a.cc").found);
  EXPECT_FALSE(Only(translation, "m@a.cc").found);
}

// clang names them by the file, g++ by a function in it.
TEST(ModuleTranslation, KnowsTheInitialisersOfAFile) {
  const std::vector<Symbol> recorded = {Function(0x10, "_GLOBAL__sub_I_a.cc@a.cc"),
                                        Function(0x20, "_GLOBAL__sub_I_b.cc@b.cc")};
  const ModuleTranslation translation(
      recorded, {Function(0x50, "_GLOBAL__sub_I__Z1fv@a.cc"), Function(0x60, "_GLOBAL__sub_I__Z1fv.cold@a.cc"),
                 Function(0x70, "_GLOBAL__sub_I__Z1gv@b.cc"), Function(0x80, "_GLOBAL__sub_I_z@b.cc")});
  ASSERT_TRUE(Only(translation, "_GLOBAL__sub_I_a.cc@a.cc").found);
  EXPECT_EQ(Only(translation, "_GLOBAL__sub_I_a.cc@a.cc").new_offset, 0x50u);
  EXPECT_FALSE(Only(translation, "_GLOBAL__sub_I_b.cc@b.cc").found);
  EXPECT_FALSE(
      Only(ModuleTranslation(recorded, {Function(0x50, "_GLOBAL__sub_I__Z1fv@c.cc")}), "_GLOBAL__sub_I_a.cc@a.cc")
          .found);
}

// With one lambda more before it, $_0 is another one's, and so are pointers to what calls it.
TEST(ModuleTranslation, DoesNotTakeALambdaForAnother) {
  const std::string first = "_ZZ4PlanvENK3$_0clEv@a.cc", second = "_ZZ4PlanvENK3$_1clEv@a.cc";
  const std::string of_gcc = "_ZZ4PlanvENKUliE_clEi@a.cc", second_of_gcc = "_ZZ4PlanvENKUliE0_clEi@a.cc";
  EXPECT_TRUE(Only({{Function(0x10, first)}, {Function(0x50, first)}}, first).found);
  EXPECT_TRUE(Only({{Function(0x10, of_gcc)}, {Function(0x50, of_gcc)}}, of_gcc).found);
  const std::vector<Symbol> both = {Function(0x50, first), Function(0x60, second)};
  EXPECT_TRUE(Only({both, both}, second).found);
  const ModuleTranslation unsure({Function(0x10, first)}, both);
  EXPECT_FALSE(unsure.symbols()[0].found);
  EXPECT_TRUE(unsure.MayBeAnotherLambda("_ZZ4PlanvENK3$_0clEv"));
  EXPECT_FALSE(unsure.MayBeAnotherLambda("_Z4Planv"));
  EXPECT_FALSE(Only({{Function(0x10, of_gcc)}, {Function(0x50, of_gcc), Function(0x60, second_of_gcc)}}, of_gcc).found);
}

TEST(ModuleTranslation, DoesNotTakeAFunctionForAnObject) {
  const ModuleTranslation translation({Object(0x10, 4, "x")}, {Function(0x50, "x")});
  EXPECT_FALSE(Only(translation, "x").found);
}

// Identical code folding gives one address two names; the frame knows which of them it is.
TEST(ModuleTranslation, PrefersTheFramesOwnNameAmongAliases) {
  const ModuleTranslation translation({Function(0x10, "a"), Function(0x10, "b")},
                                      {Function(0x50, "a"), Function(0x60, "b")});
  EXPECT_EQ(translation.FindFunction(0x10, "b")->first, 0x60u);
  EXPECT_EQ(translation.FindFunction(0x10, "a")->first, 0x50u);
}

// Of an inlined function only the name is known.
TEST(ModuleTranslation, FindsAFunctionByItsNameAloneIfThereIsOne) {
  const ModuleTranslation translation({}, {Function(0x50, "_Z1fi"), Function(0x60, "_ZL1gv@a.cc"),
                                           Function(0x70, "_ZL1hv@a.cc"), Function(0x80, "_ZL1hv@b.cc")});
  EXPECT_EQ(translation.FindFunctionNamed("_Z1fi")->first, 0x50u);
  EXPECT_EQ(translation.FindFunctionNamed("_ZL1gv")->first, 0x60u);
  EXPECT_FALSE(translation.FindFunctionNamed("_ZL1hv"));
  EXPECT_FALSE(translation.FindFunctionNamed(""));
}

TEST(ModuleTranslation, KnowsWhatTheRebuiltModuleAloneHas) {
  const ModuleTranslation translation({Function(0x10, "f")},
                                      {Function(0x50, "f"), Function(0x60, "g"), Object(0x70, 8, "n")});
  ASSERT_EQ(translation.only_rebuilt().size(), 2u);
  EXPECT_EQ(translation.only_rebuilt()[0].name, "g");
  EXPECT_EQ(translation.only_rebuilt()[1].name, "n");
}

TEST(ModuleTranslation, SaysThatAFunctionIsGone) {
  const ModuleTranslation translation({Function(0x10, "_Z1fi")}, {Function(0x50, "_Z1fl")});
  EXPECT_FALSE(translation.FindFunction(0x10, "_Z1fi"));
}

}  // namespace
}  // namespace recrash
