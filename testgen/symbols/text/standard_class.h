// One object of a standard class, as the functions that show it see it: its words, its elements' types.
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_STANDARD_CLASS_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_STANDARD_CLASS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testgen/symbols/text/container_walk.h"
#include "testgen/symbols/text/value_builder.h"

namespace recrash {

// A member, and the offset that it has in all releases. clang leaves out the definition of an inner class if it emits
// none of its constructors; then its members are not in DWARF.
struct StandardMember {
  std::string_view name;
  uint64_t usual_offset = 0;
};

class StandardObject;
using ShowStandard = std::optional<Shown> (*)(const StandardObject& object);

// A row of the table.
struct StandardRow {
  std::string_view name;  // what the class's name begins with
  ShowStandard show;
  StandardMember a{}, b{}, c{};
  bool is_libcxx = false;
};

class StandardObject {
 public:
  StandardObject(ValueBuilder& builder, const Object& object, const StandardRow& row, Reached reached)
      : row(row), object(object), reached(reached), builder_(builder) {}

  const StandardRow& row;
  const Object& object;
  const Reached reached;

  std::string name() const;  // "map<int, int, …>"
  std::optional<Dwarf_Die> Argument(size_t number) const;
  const ReportMemory& memory() const { return builder_.view().memory; }
  DebugInfo& debug() const { return builder_.view().debug; }
  ValueBuilder& builder() const { return builder_; }

  std::optional<uint64_t> Offset(StandardMember member) const;
  std::optional<uint64_t> Word(StandardMember member) const;
  // The member itself as a value, in place of the whole.
  std::optional<Shown> Member(std::string_view member) const;
  // The first bytes as a value of this type.
  std::optional<Shown> First(std::optional<Dwarf_Die> type) const;
  // What stands before the braces: "std::vector<int> of 3", without the type's name further inside.
  std::string Head(const std::string& text) const;
  // "std::string not plausible: length 2^60".
  Shown NotPlausible(const std::string& why) const;

  // The value of type `element` at each of the walk's nodes. With `mapped`, "key: value".
  Shown Elements(uint64_t count, const Walk& walk, uint64_t offset, Dwarf_Die element,
                 std::optional<Dwarf_Die> mapped = std::nullopt) const;
  // Symbol at an address of code or data, demangled; empty if there is none.
  std::string SymbolAt(uint64_t address) const;

 private:
  ValueBuilder& builder_;
};

// "int" of "f<int, char>::g": template arguments, those of the first template whose name ends in `before`.
std::vector<std::string> ArgumentsAfter(std::string_view text, std::string_view before);

// How the classes are shown (standard_containers.cc, standard_values.cc).
std::optional<Shown> ShowText(const StandardObject& object);
std::optional<Shown> ShowLibcxxText(const StandardObject& object);
std::optional<Shown> ShowVector(const StandardObject& object);
std::optional<Shown> ShowBits(const StandardObject& object);
std::optional<Shown> ShowBitset(const StandardObject& object);
std::optional<Shown> ShowCounted(const StandardObject& object);
std::optional<Shown> ShowList(const StandardObject& object);
std::optional<Shown> ShowForwardList(const StandardObject& object);
std::optional<Shown> ShowTree(const StandardObject& object);
std::optional<Shown> ShowHash(const StandardObject& object);
std::optional<Shown> ShowDeque(const StandardObject& object);
std::optional<Shown> ShowInner(const StandardObject& object);
std::optional<Shown> ShowUnique(const StandardObject& object);
std::optional<Shown> ShowShared(const StandardObject& object);
std::optional<Shown> ShowReference(const StandardObject& object);
std::optional<Shown> ShowTuple(const StandardObject& object);
std::optional<Shown> ShowOptional(const StandardObject& object);
std::optional<Shown> ShowVariant(const StandardObject& object);
std::optional<Shown> ShowAny(const StandardObject& object);
std::optional<Shown> ShowFunction(const StandardObject& object);
std::optional<Shown> ShowDuration(const StandardObject& object);
std::optional<Shown> ShowTimePoint(const StandardObject& object);
std::optional<Shown> ShowAtomic(const StandardObject& object);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_STANDARD_CLASS_H_
