// Which files are taken for a report's modules, and what is said when the right one is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kProgram[] = R"(
struct Tree { int* root; int size; };
__attribute__((noinline)) int Insert(Tree& tree, long key) { return *tree.root + tree.size + key; }
__attribute__((noinline)) int Fill(Tree& tree, int count) { return Insert(tree, count * 2) + tree.size; }
int main(int argc, char**) {
  Tree tree{nullptr, 3};
  return Fill(tree, argc + 4) + 1;
}
)";

class StrippedProgram : public testing::TestWithParam<const char*> {
 protected:
  StrippedProgram() : fixture_(kProgram, Monitored(GetParam()) + " -Wl,--build-id") {
    fixture_.Run("mkdir -p unstripped/deep && cp program unstripped/deep/unrelated-name && strip program");
    report_ = fixture_.Crash();
  }

  Fixture fixture_;
  Report report_;
};

// strip leaves the map; names, types, and what they follow are gone.
TEST_P(StrippedProgram, HasTheMapButNoNames) {
  const Backtrace backtrace = MustRead(report_);
  ASSERT_GE(backtrace.frames.size(), 3u);
  EXPECT_EQ(backtrace.frames[0].function, "");
  EXPECT_TRUE(backtrace.frames[0].monitored);
  // Without optimisation all arguments are stored.
  const bool stored = std::string_view(GetParam()).starts_with("-O0");
  EXPECT_EQ(backtrace.frames[0].candidate, stored);
  if (stored) return;
  EXPECT_EQ(backtrace.frames[0].why_not, "an argument is in debug information alone, and there is none");
  EXPECT_THAT(backtrace.notes, testing::Contains(HasSubstr("no debug information found")));
}

TEST_P(StrippedProgram, FindsItsUnstrippedFileByBuildId) {
  SymbolOptions options;
  options.search_paths = {fixture_.path("unstripped")};
  const Backtrace backtrace = MustRead(report_, options);
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Insert", "Fill", "main"));
  const Frame& insert = backtrace.frames[0];
  EXPECT_TRUE(insert.candidate) << insert.why_not;
  EXPECT_EQ(ValueOf(ParameterOf(insert, "key")), 10u);
  EXPECT_EQ(ParameterOf(insert, "tree").rendered, "Tree {root = nullptr, size = 3}");
  EXPECT_THAT(backtrace.notes, Not(testing::Contains(HasSubstr("no debug information"))));
}

// eu-strip and llvm-strip take the map as well: it is in the unstripped file.
TEST_P(StrippedProgram, FindsTheMapInItsUnstrippedFile) {
  fixture_.Run("objcopy --remove-section .recrash_map program");
  SymbolOptions options;
  options.search_paths = {fixture_.path("unstripped")};
  const Backtrace backtrace = MustRead(report_, options);
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Insert", "Fill", "main"));
  EXPECT_TRUE(backtrace.frames[0].monitored);
  EXPECT_TRUE(backtrace.frames[1].candidate) << backtrace.frames[1].why_not;
}

TEST_P(StrippedProgram, SaysThatAnOlderRecrashBuiltIt) {
  fixture_.Run("objcopy --rename-section .recrash_map=recrash_map program");
  const Backtrace backtrace = MustRead(report_);
  EXPECT_THAT(backtrace.notes, testing::Contains(HasSubstr("built by an older recrash")));
  EXPECT_FALSE(backtrace.frames[0].monitored);
}

TEST_P(StrippedProgram, FindsTheDebugHalf) {
  fixture_.Run(
      "objcopy --only-keep-debug unstripped/deep/unrelated-name half.debug && rm -r unstripped && mkdir unstripped");
  fixture_.Run(
      "id=$(readelf -n program | sed -n 's/.*Build ID: //p') && mkdir -p unstripped/.build-id/${id%${id#??}} && "
      "mv half.debug unstripped/.build-id/${id%${id#??}}/${id#??}.debug");
  SymbolOptions options;
  options.search_paths = {fixture_.path("unstripped")};
  const Backtrace backtrace = MustRead(report_, options);
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Insert", "Fill", "main"));
  EXPECT_EQ(ValueOf(ParameterOf(backtrace.frames[0], "key")), 10u);
}

TEST_P(StrippedProgram, TakesAnUnstrippedProgramThatIsNamed) {
  SymbolOptions options;
  options.program = fixture_.path("unstripped/deep/unrelated-name");
  EXPECT_THAT(FunctionNames(MustRead(report_, options)), ElementsAre("Insert", "Fill", "main"));
}

INSTANTIATE_TEST_SUITE_P(Builds, StrippedProgram, testing::Values("-O2 -g", "-O2 -g -no-pie -fno-pie", "-O0 -g"));

// STYLE.md's form: what was needed, what was found, the way out.
TEST(Modules, ThatAreAnotherBuildAreRefused) {
  const Fixture fixture(kProgram, "-O2 -g -Wl,--build-id");
  const Report report = fixture.Crash();
  fixture.Run(RECRASH_TEST_CXX " -O0 -g -Wl,--build-id program.cc -o program");
  const auto symbols = Symbols::Open(report, {});
  ASSERT_FALSE(symbols);
  EXPECT_EQ(symbols.error().code, Errc::kMissing);
  EXPECT_THAT(symbols.error().message,
              HasSubstr("needs program, build-id " + report.program()->build_id.substr(0, 12)));
  EXPECT_THAT(symbols.error().message, HasSubstr(fixture.path() + " has build-id"));
  EXPECT_THAT(symbols.error().message, HasSubstr("\n  give --program"));
}

TEST(Modules, ThatAreGoneAreRefused) {
  const Fixture fixture(kProgram, "-O2 -g");
  const Report report = fixture.Crash();
  fixture.Run("rm program");
  const auto symbols = Symbols::Open(report, {});
  ASSERT_FALSE(symbols);
  EXPECT_EQ(symbols.error().code, Errc::kMissing);
  EXPECT_THAT(symbols.error().message, HasSubstr("No such file"));
}

TEST(Modules, WithoutBuildIdAreTakenByPath) {
  const Fixture fixture(kProgram, "-O2 -g -Wl,--build-id=none");
  const Backtrace backtrace = MustRead(fixture.Crash());
  EXPECT_THAT(FunctionNames(backtrace), ElementsAre("Insert", "Fill", "main"));
  EXPECT_THAT(backtrace.notes, testing::Contains(HasSubstr("has no build-id")));
}

// -gsplit-dwarf: the program has addresses alone.
TEST(Modules, MayHaveTheirDebugInformationBeside) {
  const Fixture fixture(kProgram, Monitored("-O2 -g -gsplit-dwarf") + " -Wl,--build-id");
  EXPECT_THAT(
      MustRead(fixture.Crash()).notes,
      testing::Contains(HasSubstr(".dwo files (-gsplit-dwarf), which are not read; build with -gno-split-dwarf")));
}

// The way out that the note names is taken.
TEST(Modules, MayBeCompressedByAKindThatCannotBeRead) {
  const Fixture fixture(kProgram, Monitored("-O2 -g") + " -Wl,--build-id");
  fixture.Run("objcopy --compress-debug-sections=zstd program");
  const Report report = fixture.Crash();
  const Backtrace none = MustRead(report);
  if (none.notes.empty()) GTEST_SKIP() << "this libelf reads zstd";
  EXPECT_THAT(none.notes, testing::Contains(HasSubstr("`objcopy --decompress-debug-sections program FOLDER/program`")));
  fixture.Run("mkdir plain && objcopy --decompress-debug-sections program plain/program");
  SymbolOptions options;
  options.search_paths = {fixture.path("plain")};
  const Backtrace backtrace = MustRead(report, options);
  EXPECT_THAT(backtrace.notes, Not(testing::Contains(HasSubstr("zstd"))));
  EXPECT_EQ(ParameterOf(backtrace.frames[0], "tree").rendered, "Tree {root = nullptr, size = 3}");
}

TEST(Modules, OfTheSystemMayBeMissing) {
  const Fixture fixture(kProgram, "-O2 -g");
  Report report = fixture.Crash();
  for (Module& module : report.modules)
    if (!module.is_program) module.build_id = "00112233445566778899";
  const Backtrace backtrace = MustRead(report);
  EXPECT_THAT(FunctionNames(backtrace), ElementsAre("Insert", "Fill", "main"));
  EXPECT_THAT(backtrace.notes, testing::Contains(HasSubstr("no file with build-id 001122334455")));
}

TEST(Modules, AreOurOwnOutsideTheSystemsFolders) {
  EXPECT_TRUE(IsOwnPath("/home/me/lib/libshape.so"));
  EXPECT_TRUE(IsOwnPath("/usr/local/lib/libshape.so"));
  EXPECT_FALSE(IsOwnPath("/usr/lib/x86_64-linux-gnu/libc.so.6"));
  EXPECT_FALSE(IsOwnPath("/lib64/ld-linux-x86-64.so.2"));
  EXPECT_FALSE(IsOwnPath("[vdso]"));
  EXPECT_FALSE(IsOwnPath("/home/me/recrash/lib/recrash/librecrash_preload.so"));
}

TEST(Modules, MayBeOurOwnLibraries) {
  const Fixture fixture(R"(
int Shape(int* corners, int count);
int main(int argc, char**) { return Shape(nullptr, argc + 3) + 1; }
)",
                        "-c -O2");
  fixture.Write("shape.cc", "int Shape(int* corners, int count) { return *corners + count; }\n");
  fixture.Run(RECRASH_TEST_CXX " " + Monitored("-O2 -g -shared -fPIC") +
              " shape.cc -o libshape.so && " RECRASH_TEST_CXX " " + Monitored("-O2 -g") +
              " program.cc -o program -L. -lshape -Wl,-rpath,'$ORIGIN'");
  const Backtrace backtrace = MustRead(fixture.Crash());
  ASSERT_THAT(FunctionNames(backtrace), ElementsAre("Shape", "main"));
  EXPECT_TRUE(backtrace.frames[0].own);
  EXPECT_TRUE(backtrace.frames[0].candidate) << backtrace.frames[0].why_not;
  EXPECT_EQ(backtrace.place.function, "_Z5ShapePii");
}

}  // namespace
}  // namespace recrash
