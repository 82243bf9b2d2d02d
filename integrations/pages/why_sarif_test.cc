#include "integrations/pages/why_sarif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integrations/pages/testing_explanations.h"

namespace recrash::pages {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

ordered_json FlowOf(const ordered_json& sarif) {
  return sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"];
}

std::string UriOf(const std::string& file, const std::string& root) {
  explain::Explanation explanation = NullReturned();
  explanation.links[0].file = file;
  return WhySarif(explanation,
                  root)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
}

// https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
TEST(WhySarif, HasWhatCodeScanningRequires) {
  const ordered_json sarif = WhySarif(NullReturned(), "/src");
  EXPECT_EQ(sarif["version"], "2.1.0");
  const ordered_json& driver = sarif["runs"][0]["tool"]["driver"];
  EXPECT_EQ(driver["name"], "recrash");
  const ordered_json& rule = driver["rules"][0];
  for (const char* text : {"shortDescription", "fullDescription", "help"}) EXPECT_TRUE(rule[text]["text"].is_string());
  const ordered_json& result = sarif["runs"][0]["results"][0];
  EXPECT_EQ(result["ruleId"], rule["id"]);
  EXPECT_EQ(result["level"], "error");
  EXPECT_EQ(result["message"]["text"], "SIGSEGV in Use at app.cc:3");
  const ordered_json& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "app.cc");
  EXPECT_EQ(place["region"]["startLine"], 3);
}

TEST(WhySarif, TheFailureIsTheLastStep) {
  const ordered_json flow = FlowOf(WhySarif(NullReturned(), "/src"));
  ASSERT_EQ(flow.size(), 5u);
  EXPECT_EQ(flow[4]["location"]["message"]["text"], "Use: failed here");
  EXPECT_EQ(flow[3]["location"]["message"]["text"], "main: Use was called with p = null (undone, the failure goes)");
  EXPECT_EQ(flow[3]["location"]["physicalLocation"]["region"]["startLine"], 9);
  EXPECT_EQ(flow[3]["kinds"], ordered_json::array({"argument"}));
  EXPECT_EQ(flow[0]["nestingLevel"], 1);
}

TEST(WhySarif, SourcesBelowTheRootAreRelativeToIt) {
  EXPECT_EQ(UriOf("/src/a/b c.cc", "/src"), "a/b%20c.cc");
  EXPECT_EQ(UriOf("/src/a/../../srcs/b.cc", "/src"), "file:///srcs/b.cc");
  EXPECT_EQ(UriOf("/srcs/b.cc", "/src"), "file:///srcs/b.cc");
  EXPECT_EQ(UriOf("/x/y.cc", ""), "file:///x/y.cc");
  EXPECT_EQ(UriOf("lib/./y.cc", "/src"), "lib/y.cc");
  EXPECT_EQ(UriOf("javascript:alert(1)", "/src"), "javascript%3Aalert%281%29");
  EXPECT_EQ(UriOf("/src/\xff\"\n", "/src"), "%FF%22%0A");
}

TEST(WhySarif, AStepWithoutALineHasNoPlace) {
  explain::Explanation explanation = NullReturned();
  explanation.links[0].line = 0;
  const ordered_json sarif = WhySarif(explanation, "/src");
  EXPECT_FALSE(FlowOf(sarif)[4]["location"].contains("physicalLocation"));
  EXPECT_EQ(sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"], 9);
}

TEST(WhySarif, TextIsNeverALink) {
  explain::Explanation explanation = NullReturned();
  explanation.links[0].function = "Map::operator[](int)";
  explanation.failure = "[look](file:///etc/passwd)";
  const ordered_json sarif = WhySarif(explanation, "/src");
  EXPECT_EQ(sarif["runs"][0]["results"][0]["message"]["text"], "\\[look\\](file:///etc/passwd)");
  EXPECT_EQ(FlowOf(sarif)[4]["location"]["message"]["text"], "Map::operator\\[\\](int): failed here");
}

TEST(WhySarif, WithoutSteps) {
  const ordered_json sarif = WhySarif({"it failed", {}, "main"}, "/src");
  EXPECT_EQ(sarif["runs"][0]["results"][0]["locations"], ordered_json::array());
  EXPECT_FALSE(sarif["runs"][0]["results"][0].contains("codeFlows"));
}

TEST(WhySarif, HostileTextIsPlainAscii) {
  const std::string text = SarifText(WhySarif(Hostile(3, 1), "/src"));
  for (const char c : text) EXPECT_TRUE((c >= ' ' && c <= '~') || c == '\n');
  EXPECT_THAT(text, Not(HasSubstr("\\u202e\"")));
  EXPECT_EQ(ordered_json::parse(text).dump(2) + "\n", text);
  EXPECT_EQ(text, SarifText(WhySarif(Hostile(3, 1), "/src")));
}

}  // namespace
}  // namespace recrash::pages
