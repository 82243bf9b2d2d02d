// Finds things in the DWARF of one file: the function at an address and the calls inlined there, lines, definitions.
//
//   DebugInfo debug(*module->dwarf);
//   const std::optional<CodeScopes> scopes = debug.ScopesAt(pc.value - module->bias());
//
// libdw's own lookup by address needs .debug_aranges, which clang does not write. The tables here are built from the
// ranges of the units. A unit's functions are added when an address in it is first asked for.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_DEBUG_INFO_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_DEBUG_INFO_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "testgen/symbols/files/elf_file.h"

namespace recrash {

// Small questions to a DIE, one entry of the debug information.

// Each looks at the DIE's origin and specification too.
std::optional<Dwarf_Die> AttributeDie(Dwarf_Die& die, unsigned attribute);
std::optional<uint64_t> AttributeNumber(Dwarf_Die& die, unsigned attribute);
std::optional<int64_t> AttributeSigned(Dwarf_Die& die, unsigned attribute);
bool AttributeFlag(Dwarf_Die& die, unsigned attribute);
std::string DieName(Dwarf_Die& die);  // empty if it has none
// Looks at the DIE alone.
std::optional<Dwarf_Die> OwnAttributeDie(Dwarf_Die& die, unsigned attribute);
std::vector<Dwarf_Die> Children(Dwarf_Die& die);
std::vector<Dwarf_Die> ChildrenWithTag(Dwarf_Die& die, int tag);
// Follows DW_AT_abstract_origin to the end.
Dwarf_Die AbstractOrigin(Dwarf_Die die);
std::string LinkageName(Dwarf_Die& die);

struct SourceLine {
  std::string file;
  uint32_t line = 0;
};

// What an address of code lies in.
struct CodeScopes {
  Dwarf_Die unit{};
  Dwarf_Die function{};
  uint64_t entry = 0;              // of the function, an address of the file
  std::vector<Dwarf_Die> inlined;  // the calls that are inlined there, outermost first
};

class DebugInfo {
 public:
  // REQUIRES: the file has DWARF.
  explicit DebugInfo(ElfFile& file) : file_(file), dwarf_(file.dwarf()) {}
  ElfFile& file() { return file_; }
  // Returns nothing if no function of the file holds the address. Addresses are those of the file.
  std::optional<CodeScopes> ScopesAt(uint64_t address);
  // Returns the line of an address. Its function need not have a DIE: -g1 leaves out functions without inlined calls.
  std::optional<SourceLine> LineAt(uint64_t address);
  // The same, if the unit is known. The compiler gives line 0 to code that it made up. Such code has the line of the
  // code before it.
  std::optional<SourceLine> LineAt(Dwarf_Die& unit, uint64_t address);
  // Returns where the source declares it: DW_AT_decl_file and DW_AT_decl_line.
  static SourceLine DeclaredAt(Dwarf_Die& die);
  // Returns the file and the line of a call that was inlined.
  static SourceLine CalledAt(Dwarf_Die& inlined, Dwarf_Die& unit);
  // Returns the address at which an inlined call begins: its entry, else the lowest address of its code.
  static std::optional<uint64_t> EntryOf(Dwarf_Die& inlined);
  // Returns where else it may begin: the compiler puts its pieces in any order, and only the code knows which runs
  // first. At most some, ascending.
  static std::vector<uint64_t> OtherEntriesOf(Dwarf_Die& inlined);
  // Returns the addresses in [low, high) at which the line table has a row, ascending.
  std::vector<uint64_t> RowsIn(uint64_t low, uint64_t high);
  // Returns the name of file `number` of the unit's line table; empty if there is none.
  static std::string SourceName(Dwarf_Die& unit, size_t number);
  // Returns the definition of a class that this unit only declares: clang leaves it to the unit of the constructor.
  std::optional<Dwarf_Die> DefinitionOf(Dwarf_Die& declaration);

  // Returns "ns::Outer::", the names of what encloses the DIE. Inline namespaces are left out; anonymous ones are
  // spelled as compilers do. Empty for things that are local to a function.
  const std::string& ScopeOf(Dwarf_Die die);
  // Returns the class or enum that is defined under this name, as compilers spell it.
  std::optional<Dwarf_Die> TypeNamed(const std::string& qualified_name);
  // Returns all of these by their names.
  const std::unordered_map<std::string, Dwarf_Die>& Types();
  void ForEachUnit(const std::function<void(Dwarf_Die& unit)>& visit);

 private:
  struct Range {
    uint64_t low = 0;
    uint64_t high = 0;
    Dwarf_Off offset = 0;
  };
  // The scopes of a unit. libdw finds the parents of a DIE only by a walk from the top of its unit, so that walk is
  // made once a unit, for all DIEs whose names are qualified.
  struct Scopes {
    std::vector<std::string> texts;
    std::unordered_map<const void*, size_t> of;  // by the DIE's place
  };

  std::optional<Dwarf_Die> UnitAt(uint64_t address);
  // Returns the functions of a unit, sorted by `low`.
  const std::vector<Range>& FunctionsOf(Dwarf_Die& unit);
  static void CollectFunctions(Dwarf_Die& parent, int depth, std::vector<Range>& into);
  static const Range* Lookup(const std::vector<Range>& ranges, uint64_t address);
  static void AddRanges(Dwarf_Die& die, std::vector<Range>& into);

  ElfFile& file_;
  Dwarf* dwarf_;
  bool units_indexed_ = false;
  std::vector<Range> units_;
  std::map<Dwarf_Off, std::vector<Range>> functions_;  // by the unit
  std::unordered_map<const void*, Scopes> scopes_;     // by the unit's place
  bool types_indexed_ = false;
  std::unordered_map<std::string, Dwarf_Die> types_;  // qualified name of each class and enum that is defined
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_DEBUG_INFO_H_
