// Which lambda of the source a closure class is. Compilers number lambdas, or give them no name at all; with one more
// before it, a number is another lambda's.
//
//   Closures closures(debug);
//   if (IsClosure(type)) layout.name = closures.NameOf(type);  // "(lambda 1 of 2 in Count, line +3 of a.cc)"
#ifndef RECRASH_TESTGEN_SYMBOLS_LAYOUT_CLOSURES_H_
#define RECRASH_TESTGEN_SYMBOLS_LAYOUT_CLOSURES_H_

#include <optional>
#include <string>
#include <unordered_map>

#include "testgen/symbols/dwarf/debug_info.h"

namespace recrash {

// A class without a name that can be called.
bool IsClosure(Dwarf_Die& type);

class Closures {
 public:
  // REQUIRES: `debug` outlives the object. All of it is read at the first question.
  explicit Closures(DebugInfo& debug) : debug_(debug) {}

  // Its place among the lambdas of the function around it, and its line there. What stands outside of functions is
  // counted in the file.
  std::string NameOf(Dwarf_Die& type);

 private:
  struct Around {
    std::string function;
    uint32_t line = 0;
  };
  void Visit(Dwarf_Die& parent, const Around& around, int depth);
  void Number(std::vector<Dwarf_Die>* closures, const Around& around);

  DebugInfo& debug_;
  std::optional<std::unordered_map<const void*, std::string>> names_;  // by DIE
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_LAYOUT_CLOSURES_H_
