// Which parts of a frame's arguments a test writes as values: members of small objects, texts, short containers, what
// lies behind a pointer or a reference.
//
//   const Literals literals = FindLiterals(&report);
//   literals.at(frame.index);  // {{1, "self->names_", {"news", "mail"}}, …}
//
// Values are those from which the frame's replay starts. Nothing is written of what is damaged, freed, or too long to
// be read, and nothing twice: of two arguments that share memory the first has it.
#ifndef RECRASH_TESTGEN_LITERALS_FIND_LITERALS_H_
#define RECRASH_TESTGEN_LITERALS_FIND_LITERALS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "recrash/value.h"

namespace recrash {

constexpr size_t kMostItems = 16;        // of a list
constexpr size_t kMostLiterals = 12;     // of a parameter
constexpr size_t kMostParts = 24;        // numbers and texts of a parameter
constexpr size_t kLongestLiteral = 120;  // characters of a text

struct Literal {
  uint8_t parameter = 0;  // DWARF number from 1
  std::string path;       // "self->names_"
  Value value;
  bool is_whole = false;  // the literals of this parameter say all that there is of it
};
using Literals = std::map<uint32_t, std::vector<Literal>>;  // by ReplayFrame::index

// Of all frames. Sets their ReplayFrame::literals as well.
Literals FindLiterals(TestReport* report);

// "self" for `this`, "argument2" for a parameter without a name.
std::string LiteralName(const ReplayParameter& parameter);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_LITERALS_FIND_LITERALS_H_
