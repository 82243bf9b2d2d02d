// How the types of a program lie in memory: what a replay against another build compares with that build's types.
//
// A module has one list of them. Types name each other by their places in the list; place 0 is the type of which
// nothing is known (`void`, what a class only declares).
#ifndef RECRASH_AGENT_REPORT_TYPE_LAYOUT_H_
#define RECRASH_AGENT_REPORT_TYPE_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace recrash {

enum class TypeForm : uint8_t {
  kUnknown = 0,
  kInteger = 1,  // numbers, characters, bool
  kFloat = 2,
  kEnum = 3,
  kPointer = 4,  // references too
  kClass = 5,
  kUnion = 6,
  kArray = 7,
  kFunction = 8,
  kMemberPointer = 9,
};

enum class MemberRole : uint8_t {
  kMember = 0,
  kBase = 1,
  kVirtualBase = 2,
  kVtable = 3,  // the pointer to it
  kEnumerator = 4,
};

struct TypeMember {
  MemberRole role = MemberRole::kMember;
  std::string name = {};  // of a base: its class; empty for an anonymous struct or union
  uint64_t offset = 0;    // in bytes; of an enumerator its value
  uint32_t type = 0;
  uint32_t bit_offset = 0;  // of a bit-field, from `offset`
  uint32_t bit_size = 0;    // 0: no bit-field
};

struct TypeLayout {
  TypeForm form = TypeForm::kUnknown;
  std::string name = {};  // as written in C++; typedefs and qualifiers are resolved
  uint64_t size = 0;
  bool is_signed = false;  // kInteger, kEnum
  uint32_t target = 0;     // kPointer, kArray, kMemberPointer (of which class)
  uint64_t count = 0;      // kArray
  std::vector<TypeMember> members = {};
  uint32_t slots = 0;                    // of the vtable, as far as this class itself declares virtual functions
  std::vector<uint32_t> arguments = {};  // of a template of the C++ library: which types its objects may lead to
  std::vector<uint32_t> derived = {};    // of a class with a vtable: the classes derived from it
};

// A variable of static storage.
struct Variable {
  std::string name = {};  // "ns::Class::member"
  uint64_t offset = 0;    // from the module's base
  uint32_t type = 0;
};

// A variable of a function that was running, on the stack: objects of a class, one behind the other.
struct StackVariable {
  uint64_t address = 0;
  uint32_t type = 0;  // of one
  uint64_t count = 1;
};

// A parameter of a function that can be called again.
struct ReplayParameter {
  uint8_t number = 0;  // DWARF's, from 1
  std::string name = {};
  uint32_t type = 0;      // of the module that the function lies in
  bool indirect = false;  // a class that is passed by the address of a copy
};

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_TYPE_LAYOUT_H_
