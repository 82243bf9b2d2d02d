// Another crash reporter in the same process, installed before the client or after it: both leave what they make, and
// the program dies as without them. Real Breakpad; Crashpad and sentry-native install their handlers in the same ways.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

using testing::HasSubstr;

using Case = std::tuple<std::string /*program*/, std::string /*when*/, std::string /*how*/>;

class BesideBreakpad : public testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(All, BesideBreakpad,
                         testing::Combine(testing::Values("InLibrary", "InProgram", "Preloaded"),
                                          testing::Values("early-handles", "early", "late-handles", "late"),
                                          testing::Values("segv", "abort", "throw", "thread")),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param) + "_" + std::get<1>(info.param) + "_" + std::get<2>(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(BesideBreakpad, BothLeaveWhatTheyMake) {
  const auto& [where, when, how] = GetParam();
  Program program = Program::Failing(how);
  if (where == "InLibrary") program.At(RECRASH_TEST_BREAKPAD);
  if (where == "InProgram") program.At(RECRASH_TEST_BREAKPAD_INSIDE);
  if (where == "Preloaded") program.At(RECRASH_TEST_BREAKPAD_UNWATCHED).Preloaded();
  const Ran ran = program.With("BREAKPAD", when).Run();
  const int signal = how == "abort" || how == "throw" ? SIGABRT : SIGSEGV;
  EXPECT_EQ(ran.outcome(), -signal);
  const Report report = ran.OnlyReport();
  EXPECT_EQ(report.failure.signal, signal);
  EXPECT_EQ(report.failure.kind, how == "throw" ? FailureKind::kException : FailureKind::kSignal);
  std::error_code none;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(ran.Path("../dumps"), none), {}), 1) << ran.errors();
  EXPECT_THAT(ran.errors(), HasSubstr("breakpad: dumped\n"));
}

}  // namespace
}  // namespace recrash
