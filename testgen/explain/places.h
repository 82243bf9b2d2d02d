// Where an instruction stands in the program's own source.
//
//   SourceOf source(symbols);
//   const SourceSpot spot = source.At(pc);  // {"Stock::find(std::string const&)", ".../stock.cpp", 31}
//
// Code of the C++ library that is compiled into a function counts as that function's line. Code of none of the
// program's own has no spot: what called it does.
#ifndef RECRASH_TESTGEN_EXPLAIN_PLACES_H_
#define RECRASH_TESTGEN_EXPLAIN_PLACES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testgen/explain/code_graph.h"
#include "testgen/explain/explanation.h"
#include "testgen/symbols/symbols.h"

namespace recrash::explain {

struct SourceSpot {
  std::string function;  // as people read it; empty: not of the program's own source
  std::string file;
  uint32_t line = 0;
};

class SourceOf {
 public:
  explicit SourceOf(const Symbols& symbols) : symbols_(symbols) {}

  SourceSpot At(uint64_t pc);
  // The function out of line, whoever wrote it: "Stock::find", "memcpy"; empty: it has no name.
  std::string FunctionAt(uint64_t pc);
  bool IsOwnModule(uint64_t pc);
  // The first instruction of the function around; 0: not known.
  uint64_t EntryOf(uint64_t pc);
  const CodeGraph* GraphAround(uint64_t pc);
  struct Passed {
    std::string name;  // empty: no parameter is passed whole there
    bool is_address = false;
  };
  Passed ParameterIn(uint64_t entry, uint8_t reg);
  bool ReturnsAddress(uint64_t entry);
  // The line's text, without the white space around it; empty: the source is not there.
  std::string Line(const SourceSpot& spot);
  // The line, and as many before and after it; empty: the source is not there.
  Excerpt Around(const SourceSpot& spot, uint32_t lines);

 private:
  const Symbols& symbols_;
  std::map<uint64_t, std::optional<CodeGraph>> graphs_;      // by the function's entry
  std::map<std::string, std::vector<std::string>> sources_;  // lines by path
};

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_PLACES_H_
