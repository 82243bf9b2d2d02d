// Types of one file's DWARF as plain data: members, bases, what pointers point to, classes derived from a base.
//
//   LayoutReader reader(debug);
//   frame.parameters.push_back({1, "this", reader.Add(type), false});
//   image.types = reader.Take();
#ifndef RECRASH_TESTGEN_SYMBOLS_LAYOUT_LAYOUT_READER_H_
#define RECRASH_TESTGEN_SYMBOLS_LAYOUT_LAYOUT_READER_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/report/type_layout.h"
#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/files/elf_file.h"
#include "testgen/symbols/layout/closures.h"

namespace recrash {

class LayoutReader {
 public:
  // Of more types than this the others are kUnknown.
  static constexpr size_t kMostTypes = 20'000;

  explicit LayoutReader(DebugInfo& debug) : debug_(debug), types_(1) {}

  // Returns the place of the type among those of Take, and adds all that it leads to. Nothing (void) is place 0.
  uint32_t Add(std::optional<Dwarf_Die> type);

  // The same of what a function returns, if that is a class: the caller may have to make room for it. 0: it is none.
  uint32_t AddResult(Dwarf_Die function);

  // Returns the place of a class to which something has led; 0: nothing has. `name` is as NameOf spells it, perhaps
  // that of another file.
  uint32_t Find(const std::string& name) const;
  // A class by its name, which is the same in all units and files. Classes without a name, or local to a function, are
  // told apart by their lines.
  std::string NameOf(Dwarf_Die& type);

  const std::vector<TypeLayout>& types() const { return types_; }

  // Place 0 is the type of which nothing is known.
  std::vector<TypeLayout> Take() { return std::move(types_); }

 private:
  uint32_t Place(std::optional<Dwarf_Die> type);
  void Fill(uint32_t place, Dwarf_Die type);
  void FillClass(Dwarf_Die& type, TypeLayout* layout);
  void AddMember(Dwarf_Die& member, TypeLayout* layout);
  void AddBase(Dwarf_Die& base, TypeLayout* layout);
  void AddArguments(Dwarf_Die& type, TypeLayout* layout);
  void AddDerived(Dwarf_Die& type, TypeLayout* layout);

  struct Pending {
    uint32_t place;
    Dwarf_Die type;
  };

  DebugInfo& debug_;
  Closures closures_{debug_};
  std::vector<TypeLayout> types_;
  std::vector<Pending> pending_;
  std::unordered_map<const void*, uint32_t> by_die_;
  std::unordered_map<std::string, uint32_t> by_name_;  // each unit has its own DIE of a class
  std::optional<std::map<std::string, std::vector<Dwarf_Die>>> derived_;
};

// The variables of the program's own that can be written. Offsets are from `base_vaddr`; types go to `reader`.
std::vector<Variable> ReadVariables(DebugInfo& debug, const ElfFile& file, uint64_t base_vaddr, LayoutReader* reader);

// Linkage names of the program's own functions that were inlined somewhere; sorted.
std::vector<std::string> ReadInlined(DebugInfo& debug);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_LAYOUT_LAYOUT_READER_H_
