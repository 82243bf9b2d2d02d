#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/base/sha256.h"
#include "testgen/suite/load.h"

namespace recrash {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Inputs : public ::testing::Test {
 protected:
  Inputs() { std::filesystem::create_directory(folder_); }
  ~Inputs() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }

  // A file, and what a report that keeps names alone says of it.
  Input Write(const std::string& name, const std::string& text) {
    std::ofstream(Path(name)) << text;
    Sha256 hash;
    hash.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    return {{name}, Path(name), text.size(), hash.Finish(), InputContent::kNotAsked, {}};
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("recrash-inputs-" + std::to_string(getpid()));
  Report report_;
};

TEST_F(Inputs, AreTakenAsTheyWereAtTheCrash) {
  report_.inputs = {Write("a", "apples")};
  EXPECT_THAT(HoldInputs(&report_), ElementsAre(Path("a")));
  ASSERT_TRUE(report_.inputs[0].held());
  EXPECT_EQ(std::string(report_.inputs[0].bytes.begin(), report_.inputs[0].bytes.end()), "apples");
  EXPECT_THAT(HoldInputs(&report_), IsEmpty());
}

TEST_F(Inputs, AreLeftOutIfTheyChanged) {
  report_.inputs = {Write("a", "apples"), Write("b", "pears"), Write("c", "plums")};
  Write("a", "appled");
  Write("b", "pear");
  std::filesystem::remove(Path("c"));
  EXPECT_THAT(HoldInputs(&report_), IsEmpty());
  for (const Input& input : report_.inputs) EXPECT_FALSE(input.held());
}

// Beyond the limit of a report nothing was hashed.
TEST_F(Inputs, AreLeftOutWithoutAHash) {
  report_.inputs = {Write("a", "apples")};
  report_.inputs[0].sha256.clear();
  EXPECT_THAT(HoldInputs(&report_), IsEmpty());
}

TEST_F(Inputs, HaveTheLimitsOfReports) {
  report_.inputs = {Write("large", std::string(kMaxHeldInput + 1, 'x'))};
  for (const char* name : {"1", "2", "3", "4", "5"})
    report_.inputs.push_back(Write(name, std::string(kMaxHeldInput, *name)));
  EXPECT_THAT(HoldInputs(&report_), ElementsAre(Path("1"), Path("2"), Path("3"), Path("4")));
}

}  // namespace
}  // namespace recrash
