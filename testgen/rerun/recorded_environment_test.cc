#include "testgen/rerun/recorded_environment.h"

#include <gmock/gmock.h>

namespace recrash {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A report of `./tool input` whose stack is one page that ends with `texts` and eight zero bytes.
Report ReportWithStack(const std::string& texts) {
  const std::string page = std::string(4096 - 8 - texts.size(), '\0') + texts + std::string(8, '\0');
  Report report;
  report.process.arguments = {"./tool", "input"};
  report.mappings = {{{0x7ffd00000000}, {0x7ffd00001000}, kMapRead | kMapWrite, 0, "[stack]"}};
  report.memory = {{{0x7ffd00000000}, {page.begin(), page.end()}}};
  return report;
}

constexpr char kTexts[] = "x86_64\0./tool\0input\0HOME=/home/ann\0EMPTY=\0LC_ALL=C\0./tool";

TEST(RecordedEnvironment, StandsBehindTheArguments) {
  const Report report = ReportWithStack({kTexts, sizeof kTexts});
  EXPECT_THAT(RecordedEnvironment(report), ElementsAre("HOME=/home/ann", "EMPTY=", "LC_ALL=C"));
}

TEST(RecordedEnvironment, StandsBehindAProgramThatHasNoArguments) {
  constexpr char texts[] = "x86_64\0./tool\0HOME=/home/ann\0./tool";
  Report report = ReportWithStack({texts, sizeof texts});
  report.process.arguments = {"./tool"};
  EXPECT_THAT(RecordedEnvironment(report), ElementsAre("HOME=/home/ann"));
}

TEST(RecordedEnvironment, SaysWhichVariablesMayRunCode) {
  for (const char* code : {"LD_PRELOAD=x", "LD_AUDIT=x", "GCONV_PATH=x", "GLIBC_TUNABLES=x", "LOCPATH=x", "NLSPATH=x",
                           "MALLOC_CONF=x", "PYTHONSTARTUP=x", "PERL5LIB=x", "PATH=x", "BASH_ENV=x", "HOME=x",
                           "RECRASH_COLLECTOR=x", "ASAN_SYMBOLIZER_PATH=x", "QT_PLUGIN_PATH=x", "http_proxy=x"})
    EXPECT_TRUE(MayRunCode(code)) << code;
  for (const char* data : {"LANG=C", "LC_ALL=C", "TERM=LD_PRELOAD", "USER=ann", "GREETING=hello"})
    EXPECT_FALSE(MayRunCode(data)) << data;
}

// setproctitle and its like write over the arguments.
TEST(RecordedEnvironment, IsNotGuessedWhenTheArgumentsAreGone) {
  Report report = ReportWithStack({kTexts, sizeof kTexts});
  report.process.arguments = {"tool: working"};
  EXPECT_THAT(RecordedEnvironment(report), IsEmpty());
}

TEST(RecordedEnvironment, IsEmptyWithoutAStack) {
  Report report = ReportWithStack({kTexts, sizeof kTexts});
  report.memory.clear();
  EXPECT_THAT(RecordedEnvironment(report), IsEmpty());
}

}  // namespace
}  // namespace recrash
