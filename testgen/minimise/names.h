// Names and values of words: which argument, member, element or global lies there, by the types in the report.
//
//   WordNames names(report, frame, memory);
//   names.Find({{0x7f1010, 0xff}});
//   names.at(0x7f1010);   // {"order->lines_[2].code", "\"B-7\""}
//
// Arguments come first, then globals; of several ways to a word the shortest names it. Pointers are followed by their
// types, of a class with a vtable by the class that this says; of the C++ library's containers elements have their
// numbers. The memory may be anything: each walk has an end.
#ifndef RECRASH_TESTGEN_MINIMISE_NAMES_H_
#define RECRASH_TESTGEN_MINIMISE_NAMES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/report/report.h"
#include "testgen/literals/start_memory.h"

namespace recrash {

struct NamedWord {
  std::string path;
  std::string value;
  bool is_number = false;  // of an arithmetic type: no address
};

// A value of a plain type, for people: "42", "true", "kLeaf", "nullptr", "0x7f1010".
std::string ScalarText(const TypeLayout& type, std::span<const uint8_t> bytes);

class WordNames {
 public:
  // REQUIRES: all live as long as this.
  WordNames(const TestReport& report, const ReplayFrame& frame, const StartMemory& memory)
      : report_(report), frame_(frame), memory_(memory) {}

  // `words`: addresses, or registers (plan::RegisterAddress), each with those of its bytes that are of interest.
  // `block_of`: where the block of the heap begins that an address lies in; 0: in none. A pointer to an object may be
  // one to the first of several, if they lie in one block.
  void Find(const std::map<uint64_t, uint8_t>& words, const std::function<uint64_t(uint64_t)>& block_of);

  // Empty where no name is known.
  const NamedWord& at(uint64_t word) const;

 private:
  // An object: what leads to it, and whether that is a pointer to it.
  struct Spot {
    std::string path;
    bool is_behind = false;

    std::string Whole() const { return is_behind ? "*" + path : path; }
    Spot Member(const std::string& name) const {
      return name.empty() ? *this : Spot{path + (is_behind ? "->" : ".") + name, false};
    }
    Spot Element(uint64_t i) const { return {path + "[" + std::to_string(i) + "]", false}; }
  };
  // Nodes of a container lead to others of it.
  struct Container {
    uint32_t node = 0;  // the type of its nodes; 0: none
    uint64_t start = 0, end = 0;
    std::string path = {};
    uint64_t next = 0;  // number of the node that comes
  };
  struct Object {
    uint64_t address;
    uint32_t type;
    Spot spot;
    Container container;
  };

  const TypeLayout& At(uint32_t type) const;
  void AddArguments();
  void AddArgument(const ReplayParameter& parameter);
  std::vector<uint8_t> WholeOf(const ReplayParameter& parameter, uint64_t size) const;
  void AddGlobals();
  void Add(Object object);
  void Run();
  void LookBehind(const std::function<uint64_t(uint64_t)>& block_of);
  bool IsWanted(uint64_t start, uint64_t size) const;
  void Look(const Object& object);
  void LookAs(uint32_t type, uint64_t address, const Object& object);
  void LookAt(uint32_t type, uint64_t address, std::span<const uint8_t> bytes, const Spot& spot,
              const Container& container, int depth);
  void LookAtClass(uint32_t type, uint64_t address, std::span<const uint8_t> bytes, const Spot& spot,
                   Container container, int depth);
  bool LookAtText(uint32_t type, uint64_t address, std::span<const uint8_t> bytes, const Spot& spot);
  bool LookAtVector(uint32_t type, std::span<const uint8_t> bytes, const Spot& spot);
  void LookAtPointer(const TypeLayout& type, uint64_t value, const Spot& spot, const Container& container);
  void EnterContainer(uint32_t type, uint64_t address, const Spot& spot, Container* container) const;
  std::optional<uint64_t> OffsetOf(uint32_t type, const std::string& member, int depth) const;
  std::pair<uint32_t, uint64_t> Dynamic(uint32_t type, uint64_t address) const;
  void Name(uint64_t start, uint64_t size, const std::string& path, const std::string& value, bool is_number = false);

  const TestReport& report_;
  const ReplayFrame& frame_;
  const StartMemory& memory_;
  const ModuleImage* image_ = nullptr;
  std::map<uint64_t, uint8_t> wanted_;  // bytes that have no name yet, by word
  std::map<uint64_t, NamedWord> named_;
  std::set<std::pair<uint64_t, uint32_t>> seen_;
  std::deque<Object> left_;
  std::map<uint64_t, Object> behind_;      // what pointers lead to
  std::map<std::string, uint64_t> nodes_;  // how many of a container were named
  uint64_t steps_ = 0;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_MINIMISE_NAMES_H_
