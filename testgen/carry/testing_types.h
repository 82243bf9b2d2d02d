// For tests: invented types of a build.
//
//   TestingTypes types;
//   const uint32_t order = types.Class("Order", 8, {{"id", 0, types.Int()}, {"next", 8, types.PointerTo("Order")}});
#ifndef RECRASH_TESTGEN_CARRY_TESTING_TYPES_H_
#define RECRASH_TESTGEN_CARRY_TESTING_TYPES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/report/type_layout.h"

namespace recrash {

struct TestingMember {
  std::string name;
  uint64_t offset;
  uint32_t type;
  MemberRole role = MemberRole::kMember;
};

class TestingTypes {
 public:
  uint32_t Add(TypeLayout type) {
    types_.push_back(std::move(type));
    return static_cast<uint32_t>(types_.size() - 1);
  }
  uint32_t Number(const std::string& name, uint64_t size, bool is_signed = true, TypeForm form = TypeForm::kInteger) {
    TypeLayout type;
    type.form = form;
    type.name = name;
    type.size = size;
    type.is_signed = is_signed;
    return Add(type);
  }
  uint32_t Int() { return Number("int", 4); }
  uint32_t Long() { return Number("long", 8); }
  uint32_t PointerTo(uint32_t target) {
    TypeLayout type;
    type.form = TypeForm::kPointer;
    type.name = types_[target].name + "*";
    type.size = 8;
    type.target = target;
    return Add(type);
  }
  uint32_t ArrayOf(uint32_t element, uint64_t count) {
    TypeLayout type;
    type.form = TypeForm::kArray;
    type.name = types_[element].name + "[" + std::to_string(count) + "]";
    type.size = types_[element].size * count;
    type.target = element;
    type.count = count;
    return Add(type);
  }
  uint32_t Class(const std::string& name, uint64_t size, const std::vector<TestingMember>& members,
                 TypeForm form = TypeForm::kClass) {
    TypeLayout type;
    type.form = form;
    type.name = name;
    type.size = size;
    for (const TestingMember& member : members)
      type.members.push_back({member.role, member.name, member.offset, member.type, 0, 0});
    return Add(type);
  }
  uint32_t Enum(const std::string& name, const std::vector<std::string>& enumerators) {
    TypeLayout type;
    type.form = TypeForm::kEnum;
    type.name = name;
    type.size = 4;
    for (const std::string& enumerator : enumerators)
      type.members.push_back({MemberRole::kEnumerator, enumerator, type.members.size(), 0, 0, 0});
    return Add(type);
  }
  TypeLayout& operator[](uint32_t place) { return types_[place]; }
  const std::vector<TypeLayout>& all() const { return types_; }

 private:
  std::vector<TypeLayout> types_ = std::vector<TypeLayout>(1);
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_CARRY_TESTING_TYPES_H_
