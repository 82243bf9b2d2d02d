// Explanations made up for tests of the printers.
#ifndef RECRASH_INTEGRATIONS_PAGES_TESTING_EXPLANATIONS_H_
#define RECRASH_INTEGRATIONS_PAGES_TESTING_EXPLANATIONS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "testgen/explain/explanation.h"

namespace recrash::pages {

inline explain::Link LinkAt(uint32_t line, explain::LinkKind kind, std::string function, std::string text) {
  explain::Link link{kind, std::move(function), "/src/app.cc", line, std::move(text), "return *p;"};
  link.around = {line, {"return *p;", "}"}};
  return link;
}

inline explain::Explanation NullReturned() {
  using explain::LinkKind;
  explain::Explanation explanation{"SIGSEGV in Use at app.cc:3", {}, "main", true, 7, 0.25, false};
  explanation.links = {LinkAt(3, LinkKind::kFailed, "Use", "failed here"),
                       LinkAt(9, LinkKind::kArgument, "main", "Use was called with p = null"),
                       LinkAt(8, LinkKind::kReturned, "main", "Find returned null"),
                       LinkAt(5, LinkKind::kConstant, "Find", "the constant 0"),
                       LinkAt(4, LinkKind::kDecided, "Find", "this condition led there")};
  explanation.links[1].value = "p = null";
  explanation.links[1].undone = true;
  explanation.links[4].depth = 1;
  return explanation;
}

// Ends elements, attributes and texts; turns the direction of what follows; means something to terminals.
inline const std::string kHostile =
    "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;\x1b[31m\n"
    "\xe2\x80\xae\xff]]>-->";

inline explain::Explanation Hostile(size_t links, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text += kHostile;
  explain::Explanation explanation{text, {}, text, false, 1, 1};
  for (size_t i = 0; i < links; ++i) {
    explain::Link link{explain::LinkKind::kReturned, text + std::to_string(i), "/src/" + text, 2, text, text};
    link.value = text;
    link.around = {1, {text, text, text}};
    explanation.links.push_back(link);
  }
  return explanation;
}

}  // namespace recrash::pages

#endif  // RECRASH_INTEGRATIONS_PAGES_TESTING_EXPLANATIONS_H_
