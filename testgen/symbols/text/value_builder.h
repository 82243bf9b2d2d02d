// Makes a value of the failed process into a tree of texts (shown.h), by its type in DWARF.
//
//   ValueBuilder builder({memory, modules, addresses, debug}, 3);  // three levels of braces
//   const Shown shown = builder.Value({type, bytes, address}, {});
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_VALUE_BUILDER_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_VALUE_BUILDER_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/files/report_memory.h"
#include "testgen/symbols/text/shown.h"
#include "testgen/symbols/values/address_kind.h"

namespace recrash {

struct ProcessView {
  const ReportMemory& memory;
  ModuleSet& modules;
  AddressReader& addresses;
  DebugInfo& debug;
  TargetAddress entry_sp;  // of the frame whose values are shown; 0: not known
};

struct Object {
  Dwarf_Die type{};
  std::span<const uint8_t> bytes;
  TargetAddress address;  // 0: in registers, or not known
};

// A locked mutex of the C library, alone or in one of the C++ library.
struct HeldMutex {
  std::string name;   // "app::Queue::mutex_"
  int32_t owner = 0;  // the thread

  bool operator==(const HeldMutex&) const = default;
};

// How a value was reached from the one that is shown.
struct Reached {
  int level = 0;     // braces around it
  int pointers = 0;  // that were followed

  Reached Inside() const { return {level + 1, pointers}; }
  Reached Behind() const { return {level, pointers + 1}; }
  bool is_outermost() const { return level == 0 && pointers == 0; }
};

class ValueBuilder {
 public:
  ValueBuilder(const ProcessView& view, int levels) : view_(view), levels_(levels) {}

  size_t count() const { return count_; }      // of the values that were made
  bool left_out() const { return left_out_; }  // objects that lie too deep
  const ProcessView& view() const { return view_; }
  const std::vector<HeldMutex>& held_mutexes() const { return held_; }
  // Whether a pointer that was shown leads below what was live of the stack when the frame was entered: to a local of a
  // function that had returned by then.
  bool reaches_dead_stack() const { return reaches_dead_stack_; }

  Shown Value(const Object& object, Reached reached);
  // The object of this type at an address; what an address is there if it cannot be read.
  Shown At(Dwarf_Die type, TargetAddress address, Reached reached);
  // A pointer, raw or smart, to an object of this type.
  Shown PointerTo(std::optional<Dwarf_Die> target, TargetAddress address, Reached reached);
  // A text of this length in memory.
  Shown TextAt(TargetAddress start, uint64_t length);

  // For containers. An object in braces, empty if it lies too deep: then the caller adds no members.
  struct Group {
    Shown shown;
    bool is_open = false;
  };
  Group Open(std::string text, Reached reached);
  // The type's name in front of the outermost object; else nothing.
  std::string Head(Dwarf_Die type, Reached reached);

 private:
  Shown Pointer(Dwarf_Die pointer, TargetAddress address, Reached reached);
  Shown Reference(Dwarf_Die reference, TargetAddress address, Reached reached);
  Shown MemberPointer(Dwarf_Die pointer, std::span<const uint8_t> bytes);
  std::optional<std::string> Text(TargetAddress address);  // a C string, if it is one
  std::optional<std::string> FunctionName(TargetAddress address);
  Shown BadAddress(TargetAddress address);
  Shown Class(const Object& object, const std::string& remark, Reached reached);
  void Fields(const Object& object, Reached reached, Shown& into);
  void Field(Dwarf_Die member, const Object& object, Reached reached, Shown& into);
  // Says who holds a pthread_mutex_t; nothing for another class.
  std::optional<Shown> Mutex(const Object& object);
  Shown Array(const Object& array, Reached reached);

  // A class of which another is derived: the type that its vtable says it has, and where that object starts.
  struct Dynamic {
    Dwarf_Die type{};
    TargetAddress address;
    std::string name;
    bool has_type = false;
  };
  std::optional<uint64_t> OffsetToTop(TargetAddress vtable);
  std::optional<Dynamic> DynamicType(Dwarf_Die type, TargetAddress address);

  ProcessView view_;
  const int levels_;
  size_t count_ = 0;
  bool left_out_ = false;
  std::optional<int32_t> owner_;  // of the mutex that was shown last
  std::vector<HeldMutex> held_;
  void NoteDeadStack(TargetAddress address, const AddressKind& kind);

  bool reaches_dead_stack_ = false;
  std::vector<TargetAddress> above_;  // objects that hold the pointer to the one that is shown
};

// Returns the text in quotation marks. `cut`: there is more of it.
std::string Quoted(std::string_view text, bool cut);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_VALUE_BUILDER_H_
