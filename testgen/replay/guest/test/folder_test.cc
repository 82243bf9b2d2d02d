// The empty folder in which a sealed replay stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

// Three frames of Step, and one of the function `innermost`, which fails.
std::string Steps(const std::string& innermost) {
  return R"(
#include <filesystem>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
__attribute__((noinline)) int Innermost(int* where) {)" +
         innermost + R"(}
__attribute__((noinline)) int Step(int left, int* where) {
  return (left ? Step(left - 1, where) : Innermost(where)) + left;
}
int main(int argc, char**) { return Step(2, argc > 5 ? &argc : nullptr); }
)";
}

std::vector<FrameVerdict> VerdictsOf(const ReplayedProgram& program) {
  VerifyOptions options;
  options.jobs = 1;
  options.sandbox = false;  // in which no replay can change it
  const Result<std::vector<FrameVerdict>> verdicts = program.VerifyAll(options);
  EXPECT_TRUE(verdicts) << verdicts.error().message;
  return verdicts ? *verdicts : std::vector<FrameVerdict>();
}

constexpr char kFlags[] = "-O1 -g -fno-optimize-sibling-calls";

// The replays of one process share it.
TEST(Folder, IsMadeOnce) {
  const ReplayedProgram program(Steps("throw std::runtime_error(std::filesystem::current_path());"), kFlags);
  std::vector<std::string> notes;
  for (const FrameVerdict& verdict : VerdictsOf(program)) notes.push_back(verdict.note);
  ASSERT_GE(notes.size(), 3u) << program.text();
  EXPECT_THAT(notes, Each(AllOf(HasSubstr("/recrash-empty-"), notes.front()))) << program.text();
}

// What one replay leaves there, the next one must not find.
TEST(Folder, IsMadeAnewWhenAReplayHasChangedIt) {
  const ReplayedProgram program(Steps(R"(
  const sockaddr_un name{AF_UNIX, "left"};
  const int made = socket(AF_UNIX, SOCK_STREAM, 0);
  return bind(made, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 ? *where : 0;)"),
                                kFlags);
  const std::vector<FrameVerdict> verdicts = VerdictsOf(program);
  ASSERT_GE(verdicts.size(), 3u) << program.text();
  EXPECT_TRUE(std::ranges::all_of(verdicts, &FrameVerdict::self_contained)) << program.text();
}

}  // namespace
}  // namespace recrash
