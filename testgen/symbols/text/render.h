// Writes a value of the failed process as one line for people: `Tree {root_ = nullptr, size_ = 3}`, `"abc"`, `kLeaf`,
// `3`.
//
//   Renderer renderer(memory, modules);
//   parameter.rendered = renderer.Parameter(debug, type, parameter.bytes);
//
// The value may be anything: a freed object, a cycle, a length of 2^60. The renderer goes two levels deep, stops after
// about 120 characters, and reads only memory that was kept.
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_RENDER_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_RENDER_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/files/report_memory.h"

namespace recrash {

class Renderer {
 public:
  Renderer(const ReportMemory& memory, ModuleSet& modules) : memory_(memory), modules_(modules) {}

  // Returns a parameter's value. A pointer or reference to a class shows the object.
  std::string Parameter(DebugInfo& debug, Dwarf_Die type, std::span<const uint8_t> bytes);
  // Returns the object at `address`: the value of a parameter that the ABI passes by a pointer to a copy.
  std::string ObjectAt(DebugInfo& debug, Dwarf_Die type, TargetAddress address);

 private:
  void Value(Dwarf_Die type, std::span<const uint8_t> bytes, int depth);
  void Pointer(Dwarf_Die pointer, TargetAddress address, int depth);
  void Reference(Dwarf_Die reference, TargetAddress address, int depth);
  bool Text(TargetAddress address);  // a C string, if it is one
  bool FunctionName(TargetAddress address);
  void Pointee(Dwarf_Die target, TargetAddress address, int depth);
  void Object(Dwarf_Die type, std::span<const uint8_t> bytes, int depth);
  // A member of the standard library's classes, and where it lies.
  struct StandardMember {
    std::string_view name;
    uint64_t usual_offset;
  };
  bool Standard(Dwarf_Die type, std::span<const uint8_t> bytes, int depth);
  bool StandardText(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember start_member,
                    StandardMember length_member);
  void TextAt(TargetAddress start, uint64_t length);
  bool Libcxx(Dwarf_Die type, std::span<const uint8_t> bytes, int depth);
  bool LibcxxText(std::span<const uint8_t> bytes);
  bool StandardVector(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember start_member,
                      StandardMember finish_member, int depth);
  bool StandardPointer(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember member, int depth);
  bool StandardSize(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember member, int depth);
  bool StandardVariant(Dwarf_Die type, std::span<const uint8_t> bytes, int depth);
  bool StandardOptional(Dwarf_Die type, std::span<const uint8_t> bytes, int depth);
  std::optional<uint64_t> MemberWord(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember member);
  // Returns the bytes of one element; none if they are not known.
  using ElementReader = std::function<std::span<const uint8_t>(uint64_t)>;
  void Elements(Dwarf_Die element, uint64_t count, int depth, const ElementReader& read);
  bool Fields(Dwarf_Die type, std::span<const uint8_t> bytes, int depth, bool& first);
  bool Field(Dwarf_Die member, std::span<const uint8_t> bytes, int depth, bool& first);
  void Array(Dwarf_Die array, std::span<const uint8_t> bytes, int depth);
  void Quote(std::string_view text, bool cut);

  // A class of which another is derived: the type that its vtable says it has, and where that object starts.
  struct Dynamic {
    Dwarf_Die type{};
    TargetAddress address;
    std::string name;
    bool has_type = false;
  };
  std::optional<uint64_t> OffsetToTop(TargetAddress vtable);
  std::optional<Dynamic> DynamicType(Dwarf_Die type, TargetAddress address);

  bool full() const;
  void Add(std::string_view text) { text_ += text; }
  std::string Take();

  const ReportMemory& memory_;
  ModuleSet& modules_;
  DebugInfo* debug_ = nullptr;
  std::string text_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_RENDER_H_
