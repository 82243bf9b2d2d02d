#include "integrations/compiler/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace recrash::compiler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

using Words = std::vector<std::string>;

const Paths kPaths = {"/p/pass.so", "/p/client.a", "", "/p/static.a", "/p/static.rsp", "/p/collector.o"};
const Words kPlugin = {"-fplugin=/p/pass.so", "-fpass-plugin=/p/pass.so"};
const Words kAgent = {
    "-Wl,-u,__recrash_client_anchor"
    ",--export-dynamic-symbol=__recrash_report"
    ",--export-dynamic-symbol=__recrash_profiles"
    ",--export-dynamic-symbol=__recrash_keep_memory"
    ",--export-dynamic-symbol=__recrash_mark"
    ",--export-dynamic-symbol=__recrash_unmark"
    ",--export-dynamic-symbol=__recrash_alive"
    ",--export-dynamic-symbol=__recrash_note"
    ",--export-dynamic-symbol=__recrash_file"
    ",--export-dynamic-symbol=__recrash_before_report",
    "-Xlinker", "/p/client.a", "-lpthread", "-ldl"};

CommandLine Rewritten(const Words& words) {
  Result<CommandLine> result = Rewrite(words, kPaths);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *result : CommandLine{};
}

Words Joined(Words a, const Words& b, const Words& c = {}) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}

TEST(CommandLine, InstrumentsWhatIsCompiledAndAddsTheAgentToWhatIsLinked) {
  EXPECT_THAT(Rewritten({"-O2", "x.cpp", "-o", "x"}).arguments,
              ElementsAreArray(Joined(kPlugin, {"-O2", "x.cpp", "-o", "x"}, kAgent)));
  EXPECT_THAT(Rewritten({"-c", "x.cpp"}).arguments, ElementsAreArray(Joined(kPlugin, {"-c", "x.cpp"})));
  EXPECT_THAT(Rewritten({"x.o", "-lm", "-o", "x"}).arguments,
              ElementsAreArray(Joined({"x.o", "-lm", "-o", "x"}, kAgent)));
}

// A plug-in keeps the agent to itself, and stays loaded.
TEST(CommandLine, LinksTheAgentIntoAPlugin) {
  // Nothing of it is exported: what recrash.h calls is the plug-in's own.
  Words hidden = kAgent;
  hidden[0] = "-Wl,-u,__recrash_client_anchor";
  for (const Words& shared : {Words{"-shared"}, Words{"-Wl,-shared"}, Words{"-Xlinker", "--shared"}}) {
    const Words given = Joined(shared, {"x.o", "-o", "libx.so"});
    const CommandLine line = Rewritten(Joined({"-recrash-plugin"}, given));
    EXPECT_THAT(line.arguments, ElementsAreArray(Joined(Joined(given, hidden),
                                                        {"-Wl,--exclude-libs,client.a:static.a", "-Wl,-z,nodelete"})));
    EXPECT_TRUE(line.uses_client);
    EXPECT_EQ(line.program, "");
  }
  EXPECT_THAT(Rewritten({"-recrash-plugin", "x.o"}).arguments, ElementsAreArray(Joined({"x.o"}, kAgent)))
      << "a program is one all the same";
  EXPECT_FALSE(Rewritten({"-recrash-plugin", "-r", "x.o", "-o", "y.o"}).uses_client);
  EXPECT_THAT(Rewritten({"-recrash-plugin", "-c", "x.cc"}).arguments,
              ElementsAreArray(Rewritten({"-c", "x.cc"}).arguments));
}

// Each of these makes no executable, and an agent in a shared library would be a second one in the process.
TEST(CommandLine, LeavesLinksOfOtherThingsAlone) {
  for (const Words& words :
       {Words{"-shared", "x.o", "-o", "libx.so"}, Words{"-r", "x.o", "y.o", "-o", "z.o"}, Words{"-nostdlib", "x.o"},
        Words{"-Wl,-z,now,-shared", "x.o"}, Words{"-Xlinker", "-r", "x.o"}})
    EXPECT_THAT(Rewritten(words).arguments, ElementsAreArray(words));
}

// An option that is not used makes clang warn, and -Werror turns that into a failed build.
TEST(CommandLine, AddsNothingWhereNothingIsCompiledOrLinked) {
  for (const Words& words :
       {Words{"--version"}, Words{"-v"}, Words{"-print-file-name=libc.so"}, Words{"-dumpmachine"}, Words{"-E", "x.c"},
        Words{"-M", "x.c"}, Words{"-MM", "x.c"}, Words{"-fsyntax-only", "x.c"}, Words{"-c", "x.s"}, Words{"-c", "x.S"},
        Words{"-x", "assembler", "-c", "-"}, Words{"-x", "c++-header", "all.h", "-o", "all.pch"}, Words{"all.hpp"},
        Words{"-E", "-"}, Words{"-cc1", "x.c"}, Words{}})
    EXPECT_THAT(Rewritten(words).arguments, ElementsAreArray(words));
}

TEST(CommandLine, TakesTheLanguageFromTheOption) {
  EXPECT_TRUE(Rewritten({"-x", "c", "-c", "-"}).uses_plugin);
  EXPECT_TRUE(Rewritten({"-xc++", "-c", "x.txt"}).uses_plugin);
  EXPECT_FALSE(Rewritten({"-x", "c", "-E", "-"}).uses_plugin);
  EXPECT_FALSE(Rewritten({"-c", "x.txt"}).uses_plugin);
}

// "-o x.c" names an output and "-include x.h" no input of its own.
TEST(CommandLine, DoesNotTakeAValueForAnInput) {
  EXPECT_FALSE(Rewritten({"-o", "x.c", "x.o"}).uses_plugin);
  EXPECT_FALSE(Rewritten({"-MF", "x.c", "--version"}).uses_plugin);
  EXPECT_TRUE(Rewritten({"-include", "x.h", "x.o"}).uses_client);
}

// With the runtime in an archive there is nothing that the hooks could look up behind themselves.
TEST(CommandLine, WrapsAStaticRuntimeAtLinkTime) {
  for (const char* word : {"-static", "-static-pie", "-static-libstdc++"})
    EXPECT_THAT(Rewritten({word, "x.o"}).arguments,
                ElementsAre(word, "x.o", "@/p/static.rsp", "-Xlinker", "/p/static.a"));
}

TEST(CommandLine, EmbedsTheCollectorInWhatIsLinked) {
  const Words embedded = Joined(kAgent, {"-Xlinker", "/p/collector.o"});
  EXPECT_THAT(Rewritten({"x.o", "-recrash-embed-collector", "-o", "x"}).arguments,
              ElementsAreArray(Joined({"x.o", "-o", "x"}, embedded)));
  EXPECT_THAT(Rewritten({"-recrash-embed-collector", "-c", "x.cpp"}).arguments,
              ElementsAreArray(Joined(kPlugin, {"-c", "x.cpp"})));
}

TEST(CommandLine, HandsItsOptionsToThePassOnlyWhenCompiling) {
  EXPECT_THAT(Rewritten({"-recrash-mode=full", "-recrash-version=1 2", "-c", "x.c"}).arguments,
              ElementsAreArray(
                  Joined(kPlugin, {"-mllvm", "-recrash-mode=full", "-mllvm", "-recrash-version=1 2", "-c", "x.c"})));
  EXPECT_THAT(Rewritten({"-recrash-mode=full", "x.o"}).arguments, ElementsAreArray(Joined({"x.o"}, kAgent)));
  EXPECT_THAT(Rewritten({"-recrash-std", "-c", "x.c"}).arguments, Contains("-recrash-std"));
  EXPECT_THAT(Rewritten({"-mllvm", "-recrash-mode=full", "-c", "x.c"}).arguments,
              ElementsAreArray(Joined(kPlugin, {"-mllvm", "-recrash-mode=full", "-c", "x.c"})));
}

// As a header is, so that a build system compiles anew when the list was changed.
TEST(CommandLine, NamesListsInTheDependencyFile) {
  EXPECT_THAT(Rewritten({"-recrash-list=my.list", "-recrash-depth=2", "-c", "x.c"}).arguments,
              ElementsAreArray(Joined(kPlugin, {"-Xclang", "-fdepfile-entry=my.list", "-mllvm", "-recrash-list=my.list",
                                                "-mllvm", "-recrash-depth=2", "-c", "x.c"})));
  EXPECT_THAT(Rewritten({"-recrash-list=my.list", "x.o"}).arguments, ElementsAreArray(Joined({"x.o"}, kAgent)));
}

// A build runs many compilers at once: each object has a report of its own.
TEST(CommandLine, PutsTheReportBesideTheObject) {
  const auto report = [](const Words& words) { return Rewritten(Joined({"-recrash-report"}, words)).arguments; };
  EXPECT_THAT(report({"-c", "x.c", "-o", "b/x.o"}), Contains("-recrash-report=b/x.o.recrash.txt"));
  EXPECT_THAT(report({"-c", "x.c"}), Contains("-recrash-report=./"));
  EXPECT_THAT(report({"x.c", "-o", "b/x"}), Contains("-recrash-report=b/"));
  EXPECT_THAT(report({"-S", "x.c", "-o", "-"}), Contains("-recrash-report=./"));
  EXPECT_THAT(Rewritten({"-recrash-report=r.txt", "-c", "x.c", "-o", "x.o"}).arguments,
              Contains("-recrash-report=r.txt"));
}

const Words kAtLink = {"-fuse-ld=lld", "-Xlinker", "--load-pass-plugin=/p/pass.so"};

// The records are made after the last inlining: by lld, in whatever it links.
TEST(CommandLine, LeavesRecordsToTheLinkUnderLinkTimeOptimisation) {
  EXPECT_THAT(Rewritten({"-flto=thin", "-c", "x.c"}).arguments,
              ElementsAreArray(Joined(kPlugin, {"-mllvm", "-recrash-lto=link", "-flto=thin", "-c", "x.c"})));
  EXPECT_THAT(Rewritten({"-flto", "x.o"}).arguments, ElementsAreArray(Joined(kAtLink, {"-flto", "x.o"}, kAgent)));
  EXPECT_THAT(Rewritten({"-flto", "-shared", "x.o"}).arguments,
              ElementsAreArray(Joined(kAtLink, {"-flto", "-shared", "x.o"})));
  EXPECT_TRUE(Rewritten({"-flto", "x.o"}).uses_plugin);
  // lld links bitcode whether told so or not.
  for (const char* lld : {"-fuse-ld=lld", "-fuse-ld=/opt/ld.lld-19", "--ld-path=/opt/lld/ld.lld"})
    EXPECT_THAT(Rewritten({lld, "x.o"}).arguments, Contains("--load-pass-plugin=/p/pass.so"));
  EXPECT_THAT(Rewritten({"-flto", "-fno-lto", "x.o"}).arguments,
              ElementsAreArray(Joined({"-flto", "-fno-lto", "x.o"}, kAgent)));
}

// For other linkers, and for objects that are not only bitcode.
TEST(CommandLine, MakesRecordsInTheCompilationWhenTold) {
  for (const char* word : {"-recrash-lto=compile", "-ffat-lto-objects"}) {
    EXPECT_THAT(Rewritten({"-flto", word, "-c", "x.c"}).arguments, Not(Contains("-recrash-lto=link"))) << word;
    EXPECT_THAT(Rewritten({"-flto", word, "-fuse-ld=bfd", "x.o"}).arguments,
                Not(Contains("--load-pass-plugin=/p/pass.so")))
        << word;
  }
  EXPECT_THAT(Rewritten({"-recrash-lto=compile", "-flto", "-fuse-ld=lld", "x.o"}).arguments,
              ElementsAreArray(Joined({"-flto", "-fuse-ld=lld", "x.o"}, kAgent)));
}

TEST(CommandLine, RefusesALinkThatWouldHaveNoRecords) {
  const Result<CommandLine> result = Rewrite({"-flto", "-fuse-ld=gold", "x.o"}, kPaths);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kUsage);
  EXPECT_THAT(result.error().message, HasSubstr("-flto with gold: "));
  EXPECT_TRUE(Rewrite({"-flto", "-fuse-ld=gold", "-c", "x.c"}, kPaths));
  EXPECT_TRUE(Rewrite({"-flto", "-fuse-ld=gold", "-fno-recrash", "x.o"}, kPaths));
}

TEST(CommandLine, RefusesGoldWithGcSections) {
  for (const std::vector<std::string>& told :
       {std::vector<std::string>{"-Wl,-O1,--gc-sections"}, {"-Xlinker", "--gc-sections"}}) {
    std::vector<std::string> words = {"-fuse-ld=gold", "x.o"};
    words.insert(words.end(), told.begin(), told.end());
    const Result<CommandLine> result = Rewrite(words, kPaths);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("--gc-sections with gold: "));
    words[0] = "-fuse-ld=bfd";
    EXPECT_TRUE(Rewrite(words, kPaths));
  }
  EXPECT_TRUE(Rewrite({"-fuse-ld=gold", "x.o"}, kPaths));
}

TEST(CommandLine, RefusesOptionsThatItDoesNotUnderstand) {
  for (const char* word : {"-recrash-mode=all", "-recrash-mode", "-recrash-depth=3", "-recrash-version", "-recrash-x=1",
                           "-recrash-list", "-recrash-list=", "-recrash-report=", "-recrash-lto=never"}) {
    const Result<CommandLine> result = Rewrite({word, "-c", "x.c"}, kPaths);
    ASSERT_FALSE(result) << word;
    EXPECT_EQ(result.error().code, Errc::kUsage);
    EXPECT_THAT(result.error().message, HasSubstr(word));
  }
}

TEST(CommandLine, IsPlainClangWhenSwitchedOff) {
  EXPECT_THAT(Rewritten({"-fno-recrash", "x.c", "-o", "x"}).arguments, ElementsAre("x.c", "-o", "x"));
  EXPECT_TRUE(Rewritten({"-fno-recrash", "-frecrash", "x.c"}).uses_plugin);
}

// The pass knows x86-64 only, and so does the archive.
TEST(CommandLine, LeavesOtherTargetsAlone) {
  EXPECT_THAT(Rewritten({"-m32", "x.c"}).arguments, ElementsAre("-m32", "x.c"));
  EXPECT_THAT(Rewritten({"--target=aarch64-linux-gnu", "x.c"}).arguments, Not(Contains(kPlugin[0])));
  EXPECT_THAT(Rewritten({"-target", "x86_64-linux-gnu", "x.c"}).arguments, Contains(kPlugin[0]));
}

TEST(CommandLine, KeepsInputsBehindTwoDashesLast) {
  EXPECT_THAT(Rewritten({"-o", "x", "--", "-x.o"}).arguments,
              ElementsAreArray(Joined({"-o", "x"}, kAgent, {"--", "-x.o"})));
}

TEST(CommandLine, SearchesItsHeadersLast) {
  Paths paths = kPaths;
  paths.include = "/p/include";
  EXPECT_THAT(Rewrite({"-E", "x.c"}, paths)->arguments, ElementsAre("-idirafter", "/p/include", "-E", "x.c"));
  EXPECT_THAT(Rewrite({"x.o"}, paths)->arguments, Not(Contains("-idirafter")));
}

class ResponseFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/recrash_response_XXXXXX";
    const int descriptor = ::mkstemp(name);
    ASSERT_GE(descriptor, 0);
    ::close(descriptor);
    path_ = name;
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void Holds(const std::string& text) { std::ofstream(path_) << text; }

  std::string path_;
};

// Build systems put long command lines into a file; the file goes to clang as it is.
TEST_F(ResponseFile, IsReadButHandedOn) {
  Holds("-c \"a b.cpp\"\n");
  EXPECT_THAT(Rewritten({"@" + path_}).arguments, ElementsAreArray(Joined(kPlugin, {"@" + path_})));
}

TEST_F(ResponseFile, IsExpandedWhenItHoldsOurOptions) {
  Holds("-recrash-mode=full -c 'a b.cpp'");
  EXPECT_THAT(Rewritten({"-recrash-depth=0", "@" + path_}).arguments,
              ElementsAreArray(
                  Joined(kPlugin, {"-mllvm", "-recrash-depth=0", "-mllvm", "-recrash-mode=full", "-c", "a b.cpp"})));
}

// A file that includes itself ends somewhere.
TEST_F(ResponseFile, MayNotNestForEver) {
  Holds("@" + path_ + " -c x.c");
  EXPECT_TRUE(Rewritten({"@" + path_}).uses_plugin);
}

TEST(SplitResponseFile, FollowsGnuQuoting) {
  EXPECT_THAT(SplitResponseFile("a  'b c'\t\"d \\\" e\"\\ f\n\n''"), ElementsAre("a", "b c", "d \" e f", ""));
  EXPECT_THAT(SplitResponseFile("'unclosed"), ElementsAre("unclosed"));
  EXPECT_THAT(SplitResponseFile(""), ElementsAre());
}

}  // namespace
}  // namespace recrash::compiler
