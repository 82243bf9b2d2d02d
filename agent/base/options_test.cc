#include "agent/base/signal_safe/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace recrash::signal_safe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Parsed {
  Options options;
  std::vector<std::string> not_understood;
};

Parsed Parse(const char* text) {
  Parsed parsed;
  parsed.options = ParseOptions(text, [&](const char* at) { parsed.not_understood.emplace_back(at); });
  return parsed;
}

TEST(Options, HaveDefaults) {
  const Parsed parsed = Parse("");
  EXPECT_EQ(parsed.options.timeout_seconds, 5u);
  EXPECT_EQ(parsed.options.memory_mib, 64u);
  EXPECT_EQ(parsed.options.embed_files, 0u);
  EXPECT_EQ(parsed.options.adaptive, kAsBuilt);
  EXPECT_EQ(parsed.options.keep, 3u);
  EXPECT_EQ(parsed.options.store_mib, 128u);
  EXPECT_EQ(parsed.options.days, 365u);
  EXPECT_THAT(parsed.not_understood, IsEmpty());
}

TEST(Options, AreSeparatedByCommasOrColons) {
  const Parsed parsed = Parse("timeout=3:memory=16,,files=embed,exceptions=main,quiet,adaptive=0");
  EXPECT_EQ(parsed.options.timeout_seconds, 3u);
  EXPECT_EQ(parsed.options.memory_mib, 16u);
  EXPECT_EQ(parsed.options.embed_files, 1u);
  EXPECT_EQ(parsed.options.exceptions_main, 1u);
  EXPECT_EQ(parsed.options.quiet, 1u);
  EXPECT_EQ(parsed.options.adaptive, 0u);
  EXPECT_THAT(parsed.not_understood, IsEmpty());
}

// `recrash run` puts its own before those of the user, who may overrule them.
TEST(Options, CountByTheLastOfAName) { EXPECT_EQ(Parse("files=embed,files=names").options.embed_files, 0u); }

TEST(Options, KeepToTheirBounds) {
  const Parsed parsed =
      Parse("timeout=0,snapshot_cpu=1000,snapshot_memory=99999999999999999999999,throw_stack=9999999");
  EXPECT_EQ(parsed.options.timeout_seconds, 1u);
  EXPECT_EQ(parsed.options.snapshot_cpu, 100u);
  EXPECT_EQ(parsed.options.snapshot_memory_mib, 16u << 10);
  EXPECT_EQ(parsed.options.throw_stack, 1u << 20);
}

// Client and collector once read these differently: the one as 0, the other as the default.
TEST(Options, AreIgnoredWhereNobodyUnderstandsThem) {
  const Parsed parsed = Parse("memory=many,xmemory=1,memorys=2,files=some,timeout,=3,memory=");
  EXPECT_EQ(parsed.options.memory_mib, 64u);
  EXPECT_EQ(parsed.options.timeout_seconds, 5u);
  EXPECT_THAT(
      parsed.not_understood,
      ElementsAre("memory=many,xmemory=1,memorys=2,files=some,timeout,=3,memory=",
                  "xmemory=1,memorys=2,files=some,timeout,=3,memory=", "memorys=2,files=some,timeout,=3,memory=",
                  "files=some,timeout,=3,memory=", "timeout,=3,memory=", "=3,memory=", "memory="));
}

// Users read of the options in the guide.
TEST(Options, AreInTheGuide) {
  std::ifstream file(RECRASH_TEST_SOURCE_DIRECTORY "/docs/guides/shipping.md");
  const std::string guide(std::istreambuf_iterator<char>(file), {});
  for (const OptionRow& row : kOptions) {
    const size_t begin = guide.find("| `" + std::string(row.name) + "` |");
    ASSERT_NE(begin, std::string::npos) << row.name;
    if (row.words[0] != nullptr || row.initial == kAsBuilt) continue;
    const std::string line = guide.substr(begin, guide.find('\n', begin) - begin);
    EXPECT_TRUE(line.ends_with("| " + std::to_string(row.initial) + " |")) << line;
  }
}

}  // namespace
}  // namespace recrash::signal_safe
