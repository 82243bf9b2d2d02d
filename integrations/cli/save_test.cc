// Files of a report become files of a new folder, whatever they are called.
#include "integrations/cli/save.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/base/testing_files.h"

namespace recrash::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string TextOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Input Held(const std::string& path, const std::string& text) {
  Input input;
  input.path = path;
  input.size = text.size();
  input.content = InputContent::kHeld;
  input.bytes.assign(text.begin(), text.end());
  return input;
}

TEST(SavedName, IsOnePlainName) {
  EXPECT_EQ(SavedName(1, "/etc/app/settings.ini"), "1-settings.ini");
  EXPECT_EQ(SavedName(2, "/a/.."), "2-..");
  EXPECT_EQ(SavedName(3, "/a/"), "3-file");
  EXPECT_EQ(SavedName(4, "/a/-rf $(x)\n\x1b[2J"), "4--rf___x____2J");
  EXPECT_LE(SavedName(5, "/" + std::string(5000, 'x')).size(), 110u);
}

TEST(SaveHoldings, WritesIntoTheNewFolderAlone) {
  const TemporaryDirectory directory;
  Report report;
  report.inputs = {Held("/a/../../../../../../tmp/one", "1"), Held("../two", "2"), Held("/b/one", "3")};
  report.inputs.push_back({{}, "/not/held", 5, "", InputContent::kNotAsked, {}});
  report.logs = {{LogKind::kStandardError, "/var/log/app.log", 9, {'e', 'n', 'd'}}};
  const std::string folder = directory / "saved";
  ASSERT_TRUE(SaveHoldings(report, folder));
  EXPECT_TRUE(fs::exists(folder + "/1-one") && fs::exists(folder + "/2-two") && fs::exists(folder + "/4-app.log"));
  EXPECT_EQ(TextOf(folder + "/3-one"), "3");
  EXPECT_EQ(TextOf(folder + "/4-app.log"), "end");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 4);
  EXPECT_THAT(directory.names(), ElementsAre("saved"));
}

TEST(SaveHoldings, TouchesNoFolderThatIsThere) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "1-one") << "mine";
  Report report;
  report.inputs = {Held("/a/one", "theirs")};
  const Status saved = SaveHoldings(report, directory.path());
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Errc::kUsage);
  EXPECT_THAT(saved.error().message, HasSubstr("--save needs a new folder"));
  EXPECT_EQ(TextOf(directory / "1-one"), "mine");
}

}  // namespace
}  // namespace recrash::cli
