#include "testgen/suite/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "agent/report/testing_reports.h"
#include "testgen/emit/testing_frames.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Slurp(const fs::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class Silence : public Observer {
 public:
  void Note(const std::string& text) override { notes.push_back(text); }
  bool Ask(const std::string&) override { return false; }
  void Progress(const std::string&, size_t, size_t) override {}
  std::vector<std::string> notes;
};

class SuiteFolder : public ::testing::Test {
 protected:
  SuiteFolder() {
    suite_.directory = folder_ / "tests";
    suite_.report_path = "/reports/greeter-1.rcr";
    suite_.report_bytes = 4711;
    suite_.report_name = "greeter-1";
    suite_.program = "/usr/bin/greeter";
    suite_.report = testing_frames::GreeterReport();
    suite_.backtrace = testing_frames::GreeterBacktrace();
    for (const uint32_t index : {0u, 1u}) {
      suite_.report.replay.frames.emplace_back();
      suite_.report.replay.frames.back().index = index;
    }
  }

  Status Write(const std::vector<uint32_t>& frames) {
    const Status prepared = PrepareDirectory(suite_.directory, false);
    if (!prepared) return prepared;
    EmitOptions options{.report_name = "greeter-1"};
    for (const uint32_t frame : frames) options.tests.push_back({frame});
    return WriteSuite(suite_, options, &observer_);
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(suite_.directory)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  TemporaryDirectory folder_;
  Suite suite_;
  Silence observer_;
};

TEST_F(SuiteFolder, HoldsWhatPeopleKeepAndComesBack) {
  ASSERT_TRUE(Write({0, 1}));
  EXPECT_THAT(Names(), ElementsAre(".gitignore", ".recrash-here.json", ".recrash.json", ".vscode", "CMakeLists.txt",
                                   "crash_test.cc", "crash_test.rcr"));
  EXPECT_EQ(Slurp(suite_.directory / ".gitignore"), "build/\n.recrash-here.json\n");
  EXPECT_EQ(Slurp(suite_.directory / "CMakeLists.txt"),
            "cmake_minimum_required(VERSION 3.16)\n"
            "project(crash_test CXX)\n"
            "enable_testing()\n"
            "find_package(recrash REQUIRED)\n"
            "recrash_add_crash_test(NAME crash_test PROGRAM [[/usr/bin/greeter]] REPORT crash_test.rcr "
            "SOURCES crash_test.cc)\n");
  const Result<Suite> read = ReadSuite(suite_.directory, "");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->program, "/usr/bin/greeter");
  EXPECT_EQ(read->report_name, "greeter-1");
  EXPECT_EQ(read->report_bytes, 4711u);
  EXPECT_EQ(read->report.replay.frames.size(), 2u);
  EXPECT_EQ(ReadSuite(suite_.directory, "/other/greeter")->program, "/other/greeter");
}

TEST_F(SuiteFolder, IsReplacedWhenNobodyEditedIt) {
  ASSERT_TRUE(Write({0, 1}));
  ASSERT_TRUE(Write({1}));
  EXPECT_EQ(Names().size(), 7u);
  EXPECT_THAT(Slurp(suite_.directory / ".vscode/launch.json"), HasSubstr("Frame1_"));
  EXPECT_EQ(Slurp(suite_.directory / "crash_test.cc").find("Frame0_"), std::string::npos);
}

// What somebody wrote into a test is worth more than what we would write there.
TEST_F(SuiteFolder, KeepsAnEditedFileBesideTheNewOne) {
  ASSERT_TRUE(Write({0, 1}));
  std::ofstream(suite_.directory / "crash_test.cc", std::ios::app) << "// mine\n";
  ASSERT_TRUE(Write({0}));
  std::ofstream(suite_.directory / "crash_test.cc", std::ios::app) << "// mine too\n";
  ASSERT_TRUE(Write({0}));
  EXPECT_THAT(Slurp(suite_.directory / "crash_test.cc.1"), HasSubstr("// mine\n"));
  EXPECT_THAT(Slurp(suite_.directory / "crash_test.cc.2"), HasSubstr("// mine too\n"));
  EXPECT_EQ(Slurp(suite_.directory / "crash_test.cc").find("// mine"), std::string::npos);
}

TEST_F(SuiteFolder, IsNotMadeOfAFolderWithOtherThings) {
  fs::create_directory(suite_.directory);
  std::ofstream(suite_.directory / "crash_test.cc") << "int main() {}\n";
  const Status refused = PrepareDirectory(suite_.directory, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kRefused);
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));
}

TEST_F(SuiteFolder, ForcedKeepsWhatWasThere) {
  fs::create_directory(suite_.directory);
  std::ofstream(suite_.directory / "crash_test.cc") << "int main() {}\n";
  ASSERT_TRUE(PrepareDirectory(suite_.directory, true));
  ASSERT_TRUE(WriteSuite(suite_, {.report_name = "greeter-1", .tests = {{0}}}, &observer_));
  EXPECT_THAT(Names(), Contains("crash_test.cc.1"));
  EXPECT_EQ(Slurp(suite_.directory / "crash_test.cc.1"), "int main() {}\n");
}

// A path goes into CMakeLists.txt and must not become commands there.
TEST_F(SuiteFolder, QuotesThePathForCMake) {
  suite_.program = suite_.directory / "a]] b) message(FATAL_ERROR hi)]";
  ASSERT_TRUE(Write({0}));
  EXPECT_THAT(Slurp(suite_.directory / "CMakeLists.txt"),
              HasSubstr("PROGRAM [=[a]] b) message(FATAL_ERROR hi)]]=] REPORT"));
}

// Whoever clones the folder with the project around it has neither its path nor what is not committed.
TEST_F(SuiteFolder, NamesFilesByTheirPathsFromTheFolder) {
  fs::create_directories(folder_ / "bin");
  std::ofstream(folder_ / "bin/greeter") << "a program";
  suite_.program = folder_ / "bin/greeter";
  suite_.twin = folder_ / "bin/greeter-twin";
  suite_.symbols.search_paths = {folder_ / "lib"};
  ASSERT_TRUE(Write({0}));
  EXPECT_THAT(Slurp(suite_.directory / "CMakeLists.txt"),
              HasSubstr("PROGRAM [[../bin/greeter]] TWIN [[../bin/greeter-twin]] REPORT crash_test.rcr SOURCES "
                        "crash_test.cc SEARCH_PATHS [[../lib]])"));
  for (const char* file : {"CMakeLists.txt", ".recrash.json", "crash_test.cc", ".gitignore"})
    EXPECT_THAT(Slurp(suite_.directory / file), Not(HasSubstr(folder_.path()))) << file;

  fs::rename(folder_ / "tests", folder_ / "bin/tests");
  EXPECT_EQ(ReadSuite(folder_ / "bin/tests", "")->program, suite_.program) << "it is where it was";
  EXPECT_THAT(PlacesHere(folder_ / "bin/tests"), Contains("-Dcrash_test_PROGRAM=" + suite_.program));
  fs::create_directories(folder_ / "clone/bin");
  fs::rename(folder_ / "bin/greeter", folder_ / "clone/bin/greeter");
  fs::rename(folder_ / "bin/tests", folder_ / "clone/tests");
  fs::remove(folder_ / "clone/tests/.recrash-here.json");
  const Result<Suite> clone = ReadSuite(folder_ / "clone/tests", "");
  EXPECT_EQ(clone->program, folder_ / "clone/bin/greeter");
  EXPECT_EQ(clone->symbols.search_paths, std::vector<std::string>{folder_ / "clone/lib"});
  EXPECT_THAT(PlacesHere(folder_ / "clone/tests"), Contains("-Dcrash_test_PROGRAM="));
}

// A path through the root would be an absolute one in disguise.
TEST_F(SuiteFolder, NamesNoFileByAPathThroughTheRoot) {
  suite_.program = "/home of another/greeter";
  ASSERT_TRUE(Write({0}));
  EXPECT_THAT(Slurp(suite_.directory / "CMakeLists.txt"), HasSubstr("PROGRAM [[greeter]] REPORT"));
  EXPECT_THAT(Slurp(suite_.directory / ".recrash.json"), Not(HasSubstr("home")));
  EXPECT_EQ(ReadSuite(suite_.directory, "")->program, suite_.program);
  EXPECT_THAT(PlacesHere(suite_.directory), Contains("-Dcrash_test_PROGRAM=" + suite_.program));
}

TEST_F(SuiteFolder, SaysWhatIsMissingWhenItIsNotOne) {
  const Result<Suite> read = ReadSuite(folder_.path(), "");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kMissing);
  EXPECT_THAT(read.error().message, HasSubstr("recrash generate"));
  std::ofstream(folder_ / ".recrash.json") << "{ not json";
  EXPECT_FALSE(ReadSuite(folder_.path(), ""));
}

}  // namespace
}  // namespace recrash
