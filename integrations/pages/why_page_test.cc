#include "integrations/pages/why_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "integrations/pages/markup.h"
#include "integrations/pages/page_style.h"
#include "integrations/pages/testing_explanations.h"
#include "integrations/pages/value_graph.h"

namespace recrash::pages {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// The first element of each kind that is left open or closed twice; empty: none.
std::string Unbalanced(const std::string& page) {
  const std::regex tag("<(/?)([a-z0-9]+)[^>]*?(/?)>");
  std::vector<std::string> open;
  for (std::sregex_iterator found(page.begin(), page.end(), tag), end; found != end; ++found) {
    if ((*found)[3].length() > 0) continue;
    if ((*found)[1].length() == 0) {
      open.push_back((*found)[2]);
      continue;
    }
    if (open.empty() || open.back() != (*found)[2]) return "</" + (*found)[2].str() + ">";
    open.pop_back();
  }
  return open.empty() ? "" : "<" + open.back() + ">";
}

TEST(WhyPage, HasEachStepWithItsSourceAndItsValue) {
  const std::string page = WhyPage(NullReturned(), {});
  EXPECT_THAT(page, HasSubstr("<h1>SIGSEGV in Use at app.cc:3</h1>"));
  EXPECT_THAT(page, HasSubstr("replayed 7 times from the entry of main, in 0.2 s"));
  EXPECT_THAT(page, HasSubstr("<li id=\"s2\" class=\"argument d0\""));
  EXPECT_THAT(page, HasSubstr("2. <strong>main</strong>: Use was called with p = null"));
  EXPECT_THAT(page, HasSubstr("▸ 9</span><code>return *p;</code><span class=\"value\"><code>p = null</code>"));
  EXPECT_THAT(page, HasSubstr("<li id=\"s5\" class=\"decided d1\""));
  EXPECT_EQ(Count(page, "<li id="), 5u);
  EXPECT_EQ(Count(page, "undone, the failure goes"), 1u);
  EXPECT_EQ(Unbalanced(page), "");
}

TEST(WhyPage, SaysThatTheSourceIsNotThere) {
  explain::Explanation explanation = NullReturned();
  explanation.links[0].around = {};
  explanation.links[0].source = "";
  EXPECT_EQ(Count(WhyPage(explanation, {}), "The source is not there."), 1u);
}

TEST(WhyPage, SaysWhatIsNotKnownBefore) {
  explain::Explanation explanation = NullReturned();
  EXPECT_THAT(WhyPage(explanation, {}), Not(HasSubstr("not known")));
  explanation.links[3].kind = explain::LinkKind::kBefore;
  EXPECT_THAT(WhyPage(explanation, {}), Not(HasSubstr("not known")));
  explanation.is_exact = false;
  EXPECT_THAT(WhyPage(explanation, {}), HasSubstr("What came before is not known"));
}

TEST(WhyPage, WithoutSteps) {
  const std::string page = WhyPage({"it failed", {}, "main"}, {});
  EXPECT_THAT(page, HasSubstr("No step is known."));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
  EXPECT_EQ(Unbalanced(page), "");
}

TEST(WhyPage, HasCommandsToCopy) {
  const std::string page = WhyPage(
      NullReturned(), {{{"Again", "recrash why 'a b'"}}, {{1, "main", "app.cc:9", "reproduced", "debug --frame 1"}}});
  EXPECT_THAT(page, HasSubstr("<code id=\"c1\">debug --frame 1</code><button"));
  EXPECT_THAT(page, HasSubstr("<code id=\"c2\">recrash why &#39;a b&#39;</code><button"));
  EXPECT_THAT(page, HasSubstr("data-copies=\"c2\""));
}

TEST(WhyPage, TextIsNeverMarkup) {
  const WhyContext context = {{{kHostile, kHostile}}, {{0, kHostile, kHostile, kHostile, kHostile}}};
  const std::string page = WhyPage(Hostile(3, 1), context);
  EXPECT_EQ(Count(page, "<script"), 1u);
  EXPECT_EQ(Count(page, "<img"), 0u);
  EXPECT_EQ(page.find_first_of("\x1b\xff"), page.npos);
  EXPECT_THAT(page, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;"));
  EXPECT_EQ(Unbalanced(page), "");
}

TEST(WhyPage, BrowsersAreToldToRunNothingElse) {
  const std::string page = WhyPage(NullReturned(), {});
  EXPECT_THAT(page, HasSubstr("default-src 'none'; style-src '" + PolicyHash(kPageStyle) + "'; script-src '" +
                              PolicyHash(kPageScript) + "'; base-uri 'none'; form-action 'none'"));
  EXPECT_THAT(page, HasSubstr(std::string("<style>") + kPageStyle + "</style>"));
  EXPECT_THAT(page, HasSubstr(std::string("<script>") + kPageScript + "</script>"));
  EXPECT_THAT(page, Not(HasSubstr(" style=")));
  EXPECT_THAT(page, Not(HasSubstr("http:")));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_EQ(std::string(kPageScript).find_first_of("<&"), std::string::npos);
}

TEST(WhyPage, IsNeverLargerThanItMayBe) {
  EXPECT_LT(WhyPage(Hostile(200, 1), {}).size(), kLargestPage);
  EXPECT_EQ(Count(WhyPage(Hostile(200, 1), {}), "<li id="), 200u);
  WhyContext context;
  for (uint32_t i = 0; i < 1000; ++i) {
    context.stack.push_back({i, std::string(10000, '"'), std::string(10000, '<'), "", std::string(10000, '&')});
    context.commands.push_back({std::string(10000, '"'), std::string(10000, '\'')});
  }
  const std::string page = WhyPage(Hostile(2000, 100), context);
  EXPECT_LE(page.size(), kLargestPage);
  EXPECT_GT(page.size(), kLargestPage / 2);
  // Not as matchers, which would print the page.
  for (const char* said : {"The source finds no room", "more steps find no room on this page",
                           "more frames find no room here", "more commands find no room here"})
    EXPECT_GT(Count(page, said), 0u) << said;
  EXPECT_EQ(Unbalanced(page), "");
}

TEST(WhyPage, IsTheSameEachTime) { EXPECT_EQ(WhyPage(NullReturned(), {}), WhyPage(NullReturned(), {})); }

TEST(ValueGraph, ArrowsTellHowTheValueWasHandedOn) {
  const std::string graph = ValueGraph(NullReturned());
  EXPECT_EQ(Count(graph, "<rect"), 3u);  // Use, main, Find; what decided had no value
  EXPECT_THAT(graph, HasSubstr(">as an argument</text>"));
  EXPECT_THAT(graph, HasSubstr(">returned</text>"));
  EXPECT_LT(graph.find("as an argument"), graph.find(">returned"));
  EXPECT_THAT(graph, HasSubstr("<a href=\"#s1\" class=\"failed\">"));
}

TEST(ValueGraph, OtherValuesAreNotInIt) {
  explain::Explanation explanation = NullReturned();
  explanation.links.push_back(LinkAt(20, explain::LinkKind::kConstant, "Other", "the constant 1"));
  explanation.links.back().depth = 1;
  EXPECT_EQ(Count(ValueGraph(explanation), "<rect"), 3u);
}

TEST(ValueGraph, OfOneFunctionThereIsNone) {
  explain::Explanation explanation = NullReturned();
  explanation.links.resize(1);
  EXPECT_EQ(ValueGraph(explanation), "");
}

}  // namespace
}  // namespace recrash::pages
