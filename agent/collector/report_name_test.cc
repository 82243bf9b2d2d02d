#include "agent/collector/report_name.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

TEST(ReportName, HoldsProgramTimeAndProcess) {
  EXPECT_EQ(ReportBaseName("/usr/bin/tool", 1795000000, 42), "tool-20261118-110640-42");
  EXPECT_EQ(ReportBaseName("/usr/bin/tool (deleted)", 0, 1), "tool-19700101-000000-1");
}

// The program's path is its user's to choose; the name must need no quoting and lie in the folder.
TEST(ReportName, IsHarmlessWhateverTheProgramIsCalled) {
  EXPECT_EQ(ReportBaseName("/x/a b\n;$(rm)\xff", 0, 1), "a_b____rm__-19700101-000000-1");
  EXPECT_EQ(ReportBaseName("/x/..", 0, 1), "_.-19700101-000000-1");
  EXPECT_EQ(ReportBaseName("", 0, 1), "program-19700101-000000-1");
  EXPECT_LT(ReportBaseName(std::string(5000, 'x'), 0, 1).size(), 160u);
}

}  // namespace
}  // namespace recrash
