// The page of `recrash why`: one file of HTML that needs no network.
//
//   const std::string page = WhyPage(explanation, {{"tests again", "recrash reproduce crash.rcr"}});
#ifndef RECRASH_INTEGRATIONS_PAGES_WHY_PAGE_H_
#define RECRASH_INTEGRATIONS_PAGES_WHY_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "testgen/explain/explanation.h"

namespace recrash::pages {

constexpr size_t kLargestPage = 2 << 20;

// A command to copy. Its words are quoted for a shell already (ShellWord).
struct Command {
  std::string what;  // "make tests of it"
  std::string line;
};

// A frame of the failing stack.
struct StackRow {
  uint32_t index = 0;
  std::string function;
  std::string place;    // "freed.cc:21"
  std::string verdict;  // empty: not replayed
  std::string command;  // to look at it; empty: none
};

struct WhyContext {
  std::vector<Command> commands;
  std::vector<StackRow> stack;
};

// At most kLargestPage bytes; what finds no room is left out, and the page says so.
std::string WhyPage(const explain::Explanation& explanation, const WhyContext& context);

}  // namespace recrash::pages

#endif  // RECRASH_INTEGRATIONS_PAGES_WHY_PAGE_H_
