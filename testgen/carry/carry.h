// Carries objects over to a build in which their classes lie otherwise, member by member.
//
//   Carrier carrier(&types, memory);
//   carrier.AddVariable(variable_pair, address, "orders");
//   carrier.AddArgument(frame, pair, bytes);
//   const CarriedMemory carried = carrier.Carry();
//
// An object that grows stays where it is if its block of the heap has room; else it moves to pages of its own, which
// free() takes for a block that malloc had mapped. All pointers that types lead to follow. What DWARF says nothing of
// (void*, unions) must not lead to an object that changed: then the frames that reach it have a problem.
#ifndef RECRASH_TESTGEN_CARRY_CARRY_H_
#define RECRASH_TESTGEN_CARRY_CARRY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "testgen/carry/object_walk.h"
#include "testgen/carry/recorded_heap.h"
#include "testgen/carry/type_pairs.h"

namespace recrash {

struct CarriedBytes {
  uint64_t address = 0;
  std::vector<uint8_t> bytes;
};

struct CarriedArgument {
  std::vector<uint8_t> bytes;  // of the parameter, with pointers to where objects are now
  std::string problem;         // why the frame cannot be called
};

struct CarriedMemory {
  std::vector<CarriedBytes> writes;            // over recorded memory
  std::vector<CarriedBytes> pages;             // objects that moved; whole pages, ascending
  std::map<uint64_t, CarriedBytes> variables;  // by recorded address: contents of the new build's variable
  std::vector<CarriedArgument> arguments;      // in the order of AddArgument
  std::string problem;                         // of variables: why no frame can be called
  std::set<std::string> notes;                 // what is not as it was recorded: members that were added
};

struct RecordedObjects {
  ReadMemory read;
  uint64_t heap_start = 0;
  uint64_t heap_end = 0;
  ClassOfVtable class_of_vtable;
  uint64_t free_pages = 0;  // from here on nothing is mapped
};

class Carrier {
 public:
  Carrier(TypePairs* types, const RecordedObjects& recorded)
      : types_(types),
        recorded_(recorded),
        heap_(recorded_.read, recorded.heap_start, recorded.heap_end),
        walk_(types, recorded_.read, heap_, recorded_.class_of_vtable) {}

  void AddVariable(const TypePair& type, uint64_t address, const std::string& name);
  void AddStackVariable(const StackVariable& variable) { walk_.AddStackVariable(variable); }
  // `indirect`: the bytes are the address of a copy of the object.
  void AddArgument(const TypePair& type, std::span<const uint8_t> bytes, bool indirect, const std::string& name);

  CarriedMemory Carry();

 private:
  struct Argument {
    TypePair type;
    std::vector<uint8_t> bytes;
    bool indirect;
    std::string name;
    FoundObject leads;
  };
  struct Place {
    FoundObject object;
    bool changed = false;
    uint64_t address = 0;  // now
  };

  void PlaceObjects();
  std::string WhyNotMoved(const Place& place) const;
  void FindUntyped();
  void ConvertObjects();
  void ConvertPlace(Place* place);
  std::string ProblemBehind(const std::vector<uint64_t>& roots) const;
  CarriedArgument ConvertArgument(const Argument& argument);

  // Places by recorded address. An address just behind an object belongs to it if nothing else is there.
  const Place* Find(uint64_t address) const;
  Place* FindIn(uint64_t address);
  std::optional<uint64_t> MapPointer(uint64_t value, const TypePair& target) const;
  std::optional<uint64_t> MapOffset(const TypePair& type, uint64_t offset, const TypePair& target, int depth) const;

  // Each fills `to`, the bytes of the same thing in the new build at the address `at`. False: it cannot be done, and
  // why_ says why.
  bool Convert(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to, uint64_t at);
  bool ConvertClass(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to, uint64_t at);
  bool ConvertMember(const TypePair& type, const TypeMember& member, const TypeMember& same,
                     std::span<const uint8_t> from, std::span<uint8_t> to, uint64_t at);
  bool ConvertVector(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to);
  bool ConvertArray(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to, uint64_t at);
  bool ConvertNumber(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to);
  bool ConvertPointer(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to);
  bool AddMembers(const TypePair& type, std::span<uint8_t> to, uint64_t at);
  bool Initialise(uint32_t type, std::span<uint8_t> to, uint64_t at, int depth);
  std::string WhyNotConverted(const TypePair& type) const;
  bool Fail(const std::string& why);

  TypePairs* types_;
  const RecordedObjects recorded_;
  const RecordedHeap heap_;
  ObjectWalk walk_;
  std::vector<Argument> arguments_;
  std::vector<uint64_t> variables_;
  std::vector<Place> places_;
  std::string why_;  // of what is being converted
  mutable uint64_t steps_ = 0;
  int depth_ = 0;  // of nested types
  CarriedMemory carried_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_CARRY_CARRY_H_
