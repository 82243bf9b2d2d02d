// Memory that a program excludes from core dumps is in none of its reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <sstream>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// With and without a collector.
class Excluded : public testing::TestWithParam<bool> {
 protected:
  static Ran Run(Program program) {
    if (!GetParam()) program.With("RECRASH_COLLECTOR", "/nonexistent");
    return program.Run();
  }
  static Report OnlyReport(const Ran& ran) { return ran.OnlyReport(GetParam() ? ".rcr" : ".rcraw"); }
  static const Mapping* WithheldAt(const Report& report, TargetAddress address) {
    const Mapping* mapping = report.FindMapping(address);
    return mapping != nullptr && (mapping->flags & kMapWithheld) != 0 ? mapping : nullptr;
  }
};

INSTANTIATE_TEST_SUITE_P(ByBoth, Excluded, testing::Bool(),
                         [](const auto& info) { return info.param ? "Collector" : "RawWriter"; });

TEST_P(Excluded, PagesAreLeftOut) {
  const Ran ran = Run(Program::Failing("excluded-page"));
  const Report report = OnlyReport(ran);
  EXPECT_TRUE(report.ReadWord(ran.address()));
  EXPECT_FALSE(report.ReadWord(ran.address() + 4096));
  EXPECT_EQ(WithheldAt(report, ran.address()), nullptr);
  EXPECT_NE(WithheldAt(report, ran.address() + 4096), nullptr);
  EXPECT_THAT(report.losses, Contains(HasSubstr("4 KiB of memory that the program excludes from core dumps")));
}

TEST_P(Excluded, StacksAreInNoFile) {
  const Ran ran = Run(Program::Failing("excluded-stack"));
  const Report report = OnlyReport(ran);
  EXPECT_EQ(report.failure.signal, SIGSEGV);
  EXPECT_NE(WithheldAt(report, {report.failing_thread()->registers.sp()}), nullptr);
  for (const std::string& file : ran.Files(".dmp"))
    EXPECT_THAT(TextOf(ran.Path(file)), Not(HasSubstr("words on an excluded stack")));
  EXPECT_EQ(ran.Files(".dmp").size(), GetParam() ? 1u : 0u);
}

TEST_P(Excluded, ProgramsThatAreNotDumpableLeaveNoMemory) {
  const Ran ran = Run(Program::Failing("fail-not-dumpable"));
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  const Report report = OnlyReport(ran);
  EXPECT_THAT(report.memory, IsEmpty());
  EXPECT_FALSE(report.thrown);
  EXPECT_LT(report.failure.pc - ran.address(), 200u);
  EXPECT_THAT(report.losses, Contains(HasSubstr("PR_SET_DUMPABLE")));
  EXPECT_THAT(ran.Files(".dmp"), IsEmpty());
}

TEST_P(Excluded, ProgramsMayAskForTheirMemoryToBeKept) {
  const Ran ran = Run(Program::Failing("fail-not-dumpable").With("KEEP_MEMORY", "1"));
  const Report report = OnlyReport(ran);
  EXPECT_TRUE(report.ReadWord({report.failing_thread()->registers.sp()}));
  EXPECT_EQ(ran.Files(".dmp").size(), GetParam() ? 1u : 0u);
}

}  // namespace
}  // namespace recrash
