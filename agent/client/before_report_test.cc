// RECRASH_BEFORE_REPORT: the program is asked, and whatever its callback does, matters are not worse than without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct Way {
  const char* fail;
  int outcome;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.fail; }

class BeforeReport : public testing::TestWithParam<Way> {
 protected:
  static Program Asking(const std::string& how) { return Program::Adding("ask-" + how, GetParam().fail); }
  static void ExpectReported(const std::string& how, const std::string& loss) {
    const Ran ran = Asking(how).Run();
    EXPECT_EQ(ran.outcome(), GetParam().outcome) << how << ": " << ran.errors();
    EXPECT_THAT(ran.output(), StartsWith("asked\n")) << how;
    EXPECT_THAT(ran.OnlyReport().losses, Contains(HasSubstr(loss))) << how;
  }
};

INSTANTIATE_TEST_SUITE_P(All, BeforeReport,
                         testing::Values(Way{"segv", -SIGSEGV}, Way{"abort", -SIGABRT}, Way{"throw", -SIGABRT},
                                         Way{"thread", -SIGSEGV}, Way{"report", 7}),
                         [](const auto& info) { return std::string(info.param.fail); });

TEST_P(BeforeReport, SaysWhatHappenedAndMayAllowIt) {
  const Ran ran = Asking("allow").Run();
  EXPECT_EQ(ran.outcome(), GetParam().outcome);
  EXPECT_EQ(ran.output(), "asked\n");
  const Report report = ran.OnlyReport();
  ASSERT_EQ(report.notes.size(), 1u);
  const std::string fail = GetParam().fail;
  EXPECT_EQ(report.notes[0].value, fail == "abort"    ? "6 -6 1   "
                                   : fail == "throw"  ? "6 -6 1 NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE  "
                                   : fail == "report" ? "0 0 1   why not"
                                                      : "11 1 1   ");
  EXPECT_THAT(report.losses, Not(Contains(HasSubstr("callback"))));
}

TEST_P(BeforeReport, MayRefuse) {
  const Ran ran = Asking("refuse").Run();
  EXPECT_EQ(ran.outcome(), GetParam().outcome);
  EXPECT_THAT(ran.Files(""), IsEmpty());
  EXPECT_THAT(ran.errors(), Not(HasSubstr("recrash")));
}

TEST_P(BeforeReport, MayRefuseWhereThereIsNoCollector) {
  const Ran ran = Asking("refuse").With("RECRASH_COLLECTOR", "/nonexistent").Run();
  EXPECT_EQ(ran.outcome(), GetParam().outcome);
  EXPECT_THAT(ran.Files(""), IsEmpty());
}

TEST_P(BeforeReport, IsMadeThoughTheCallbackFails) {
  for (const char* how : {"segv", "abort", "overflow", "clobber"})
    ExpectReported(how, "callback (RECRASH_BEFORE_REPORT): it failed itself");
}

TEST_P(BeforeReport, IsMadeThoughTheCallbackHangs) {
  for (const char* how : {"hang", "sleep"}) ExpectReported(how, "callback (RECRASH_BEFORE_REPORT): it took too long");
}

// In a raw report, too.
TEST(BeforeReport, SaysInARawReportThatTheCallbackFailed) {
  const Ran ran = Program::Adding("ask-segv").With("RECRASH_COLLECTOR", "/nonexistent").Run();
  EXPECT_THAT(ran.OnlyReport(".rcraw").losses, Contains(HasSubstr("it failed itself")));
}

// The frames below the callback's stay as they were: those of the signal, too.
TEST(BeforeReport, LeavesTheFailureToTheHandlerThatWasThereBefore) {
  for (const char* how : {"allow", "refuse", "segv", "overflow", "hang"})
    EXPECT_EQ(Program::Adding(std::string("ask-") + how).With("EARLIER_HANDLER", "1").Run().outcome(), 66) << how;
}

TEST(BeforeReport, IsAskedByThePreloadedClient) {
  const Ran ran = Program::Adding("ask-refuse").Preloaded().Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_THAT(ran.Files(""), IsEmpty());
}

}  // namespace
}  // namespace recrash
