#include "agent/base/report_store.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

std::string Parsed(std::string_view name) {
  const auto parsed = ParseReportFileName(name);
  return parsed ? parsed->program + " " + parsed->stem + " " + parsed->suffix + (parsed->is_part ? " part" : "") : "";
}

TEST(ReportFileName, IsWhatTheAgentWrites) {
  EXPECT_EQ(Parsed("app-20261119-091024-21705.rcr"), "app app-20261119-091024-21705 .rcr");
  EXPECT_EQ(Parsed("app-20261119-091024-1-17.dmp"), "app app-20261119-091024-1-17 .dmp");
  EXPECT_EQ(Parsed("app-20261119-091024-7-c0ffee.rcraw"), "app app-20261119-091024-7-c0ffee .rcraw");
  EXPECT_EQ(Parsed("app-20261119-091024-7-c0ffee.rcraw.part"), "app app-20261119-091024-7-c0ffee .rcraw part");
}

// Program names may look like anything else in the name.
TEST(ReportFileName, IsToldFromTheProgramsName) {
  EXPECT_EQ(Parsed("my-app-2-20261119-091024-1.rcr"), "my-app-2 my-app-2-20261119-091024-1 .rcr");
  EXPECT_EQ(Parsed("a-20261119-091024-1-20261119-091024-1.rcr"),
            "a-20261119-091024-1 a-20261119-091024-1-20261119-091024-1 .rcr");
  EXPECT_EQ(Parsed("x.rcr-20261119-091024-1.rcr"), "x.rcr x.rcr-20261119-091024-1 .rcr");
}

// What the agent has not named so is nobody's to delete.
TEST(ReportFileName, IsNoOther) {
  for (const char* name : {"",
                           ".rcr",
                           "mine.rcr",
                           "crash_test.rcr",
                           "app-1.rcr",
                           "-20261119-091024-1.rcr",
                           "app-20261119-091024.rcr",
                           "app-2026111-091024-1.rcr",
                           "app-20261119-091024-.rcr",
                           "app-20261119-091024-1-.rcr",
                           "app-20261119-091024-x.rcr",
                           "app-20261119-091024-1.txt",
                           "app-20261119-091024-1.rcr.bak",
                           "app-20261119-091024-1",
                           "app-20261119-091024-1.part",
                           "app-20261119-091024-1-2-3.rcr",
                           "a\nb-20261119-091024-1.rcr",
                           "a b-20261119-091024-1.rcr",
                           "../a-20261119-091024-1.rcr",
                           "app-20261119-091024-1.rcr.part.part"})
    EXPECT_EQ(Parsed(name), "") << name;
}

}  // namespace
}  // namespace recrash
