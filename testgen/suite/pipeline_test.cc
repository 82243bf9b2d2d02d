#include "testgen/suite/pipeline.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "agent/report/writer.h"
#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Listener : public Observer {
 public:
  void Note(const std::string& text) override { notes.push_back(text); }
  bool Ask(const std::string&) override { return false; }
  void Progress(const std::string& what, size_t, size_t) override { tasks.push_back(what); }
  std::vector<std::string> notes, tasks;
};

// A program that crashed, and its report.
class MakingTests : public ::testing::Test {
 protected:
  MakingTests() {
    const Status written = WriteReport(fixture_.Crash(), fixture_.path("crash.rcr"));
    EXPECT_TRUE(written) << written.error().message;
    request_.report = fixture_.path("crash.rcr");
    request_.program = fixture_.path();
    request_.folder = fixture_.path("tests");
  }

  Result<Outcome> Make() { return MakeTests(request_, &listener_); }

  Fixture fixture_{R"(
__attribute__((noinline)) int Read(const int* target) { return *target + 1; }
__attribute__((noinline)) int Hand(const int* target) { return Read(target) + 1; }
int main() { return Hand(nullptr) + 1; }
)",
                   Monitored("-O2 -g") + " -Wl,--build-id"};
  Request request_;
  Listener listener_;
};

TEST_F(MakingTests, CandidatesAreWrittenAndNotReplayed) {
  request_.goal = Goal::kCandidates;
  const Result<Outcome> outcome = Make();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->verdicts, IsEmpty());
  EXPECT_THAT(listener_.tasks, IsEmpty());
  EXPECT_EQ(outcome->suite.failure, "SIGSEGV in Read at program.cc:2");
  EXPECT_THAT(outcome->kept, testing::Contains(0u));
  for (const char* name : {"crash_test.cc", "crash_test.rcr", "CMakeLists.txt"})
    EXPECT_TRUE(fs::exists(request_.folder / name)) << name;
}

TEST_F(MakingTests, AnEditedFileIsToldToTheObserver) {
  request_.goal = Goal::kCandidates;
  ASSERT_TRUE(Make());
  std::ofstream(request_.folder / "crash_test.cc", std::ios::app) << "// mine\n";
  ASSERT_TRUE(Make());
  EXPECT_THAT(listener_.notes, testing::Contains(HasSubstr("was edited; it is kept as crash_test.cc.1")));
}

// Frames, arguments and addresses are those of one build alone.
TEST_F(MakingTests, AFolderOfOthersIsLeftAlone) {
  fs::create_directory(request_.folder);
  std::ofstream(request_.folder / "main.cc") << "int main() {}\n";
  const Result<Outcome> outcome = Make();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::kRefused);
  EXPECT_EQ(std::distance(fs::directory_iterator(request_.folder), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace recrash
