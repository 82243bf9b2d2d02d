// Finds the objects in recorded memory that arguments and variables lead to, each with its type in both builds.
//
//   ObjectWalk walk(&types, read, heap, class_of_vtable);
//   walk.AddPointer(order_pair, address);
//   walk.Run();
//   for (const FoundObject& object : walk.TakeObjects()) ...
//
// Pointers are followed by their types; of a class with a vtable, by the type that the vtable says. Of the C++
// library's containers the elements are found: vectors, nodes of maps, sets, lists and hash tables. What DWARF says
// nothing of (void*, unions) is written down with the object that has it.
#ifndef RECRASH_TESTGEN_CARRY_OBJECT_WALK_H_
#define RECRASH_TESTGEN_CARRY_OBJECT_WALK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "testgen/carry/recorded_heap.h"
#include "testgen/carry/type_pairs.h"

namespace recrash {

// Counts how deep nested types are.
class Deeper {
 public:
  explicit Deeper(int* depth) : depth_(depth) { ++*depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
  ~Deeper() { --*depth_; }

 private:
  int* depth_;
};

// Where an object lies, which says whether it can be moved.
enum class Home : uint8_t {
  kBlock,        // it has a block of the heap for itself
  kPartOfBlock,  // of a block of which nothing else is known
  kVariable,
  kElsewhere,  // on a stack, in memory that was mapped
};

// An object, or an array of them.
struct FoundObject {
  uint64_t address = 0;
  TypePair type;       // of one element
  uint64_t count = 1;  // elements
  uint64_t live = 1;   // of these hold objects; a vector has room for more
  uint64_t size = 0;   // of all
  uint64_t room = 0;   // at its address, its size at least
  uint64_t lead = 0;   // bytes of its block before it: the count that new[] keeps
  Home home = Home::kElsewhere;
  bool freed = false;
  bool is_whole = false;           // it is known not to be a part of a larger array
  std::string problem;             // why it cannot be carried over, whether it has changed or not
  std::vector<uint64_t> leads_to;  // pointers in it
  std::vector<uint64_t> untyped;   // words in it that may be pointers to anything

  uint64_t end() const { return address + size; }
};

// The class that a vtable pointer belongs to; nothing if the word is none.
using ClassOfVtable = std::function<std::optional<std::string>(uint64_t word)>;

class ObjectWalk {
 public:
  // REQUIRES: all live as long as the walk.
  ObjectWalk(TypePairs* types, const ReadMemory& read, const RecordedHeap& heap, const ClassOfVtable& class_of_vtable)
      : types_(types), read_(read), heap_(heap), class_of_vtable_(class_of_vtable) {}

  // What `this` points to: one object, and no part of an array.
  void AddPointer(const TypePair& target, uint64_t address);
  void AddVariable(const TypePair& type, uint64_t address);
  // Objects of a class on the stack, of which only those are looked at that something leads to.
  void AddStackVariable(const StackVariable& variable) { stack_.emplace(variable.address, variable); }
  // A value that lies in no recorded memory: an argument in registers. Returns what its pointers lead to.
  FoundObject LookAt(const TypePair& type, std::span<const uint8_t> bytes);

  // Follows all pointers. False: there are more objects than can be followed.
  bool Run();

  // Outermost objects, by address: an object inside another one is a part of that.
  std::vector<FoundObject> TakeObjects();

 private:
  // Inside a container of the library pointers to bases of its nodes point to such nodes, or back into the container.
  struct Container {
    TypePair node;
    uint64_t start = 0;
    uint64_t end = 0;
  };
  struct Key {
    uint64_t address;
    uint32_t type;
    auto operator<=>(const Key&) const = default;
  };

  void Visit(TypePair type, uint64_t address, bool is_whole, const Container& container);
  bool ResolveDynamic(TypePair* type, uint64_t* address) const;
  bool Measure(const RecordedBlock& block, FoundObject* object) const;
  void Add(FoundObject object, const Container& container);
  const StackVariable* StackVariableAt(const TypePair& type, uint64_t address) const;
  void Look(const TypePair& type, uint64_t address, std::span<const uint8_t> bytes, const Container& container,
            FoundObject* object);
  void LookAtClass(const TypePair& type, uint64_t address, std::span<const uint8_t> bytes, Container container,
                   FoundObject* object);
  bool LookAtVector(const TypePair& type, std::span<const uint8_t> bytes, FoundObject* object);
  bool EnterContainer(const TypePair& type, uint64_t address, Container* container, FoundObject* object);
  void LookAtPointer(const TypePair& type, uint64_t value, const Container& container, FoundObject* object);
  void Absorb(FoundObject object, FoundObject* around) const;
  void AddConflict(const FoundObject& object, FoundObject* around) const;
  static void AddUntyped(std::span<const uint8_t> bytes, FoundObject* object);

  TypePairs* types_;
  const ReadMemory& read_;
  const RecordedHeap& heap_;
  const ClassOfVtable& class_of_vtable_;
  std::map<Key, FoundObject> objects_;
  std::map<uint64_t, StackVariable> stack_;
  std::vector<std::pair<Key, Container>> left_;
  uint64_t steps_ = 0;
  int depth_ = 0;  // of nested types
};

// Is there an object of the inner type at the offset in one of the outer type?
bool Holds(const TypePairs& types, const TypePair& outer, uint64_t offset, const TypePair& inner);
bool SameType(const TypePairs& types, const TypePair& a, const TypePair& b);

// The offset of a member in an object of the type, sought in bases and members too.
std::optional<uint64_t> FindMember(const TypePairs& types, const TypePair& type, const std::string& name, bool now);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_CARRY_OBJECT_WALK_H_
