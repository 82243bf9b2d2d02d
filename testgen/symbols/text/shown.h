// A value as a tree of texts, and its two layouts: on one line, and over several.
//
//   Shown point{.text = "Point", .has_members = true, .members = {{"x = ", {"3"}}, {"y = ", {"4"}}}};
//   OneLine(point, 120);       // "Point {x = 3, y = 4}"
//   SeveralLines(point, 110);  // the same, or a line for each member where that is too long
//
// What is too long loses its innermost levels first, so that no outer member is cut for the sake of an inner one.
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_SHOWN_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_SHOWN_H_

#include <cstddef>
#include <string>
#include <vector>

namespace recrash {

struct ShownMember;

struct Shown {
  std::string text;          // "3", "Point", "std::vector<int> of 3"; "" for an object in another one
  bool has_members = false;  // braces
  std::vector<ShownMember> members;
  bool is_cut = false;  // members were left out
};

struct ShownMember {
  std::string label;  // "x = ", "7: ", or none
  Shown value;
};

// Returns at most about `limit` characters.
std::string OneLine(const Shown& shown, size_t limit);

// Returns at most `most` lines of at most about `width` characters; more than one only if the value fills more.
std::vector<std::string> SeveralLines(const Shown& shown, size_t width, size_t most);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_SHOWN_H_
