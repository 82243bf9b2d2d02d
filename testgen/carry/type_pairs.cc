#include "testgen/carry/type_pairs.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "testgen/carry/type_name.h"

namespace recrash {
namespace {

constexpr size_t kMostItems = 3;

bool IsClass(const TypeLayout& type) { return type.form == TypeForm::kClass || type.form == TypeForm::kUnion; }

bool IsOfLibrary(const TypeLayout& type) {
  return type.name.starts_with("std::") || type.name.starts_with("__gnu_cxx::");
}

bool HasNameOf(const TypeLayout& one, const TypeLayout& other) { return IsSameTypeName(one.name, other.name); }

std::string AnotherLambda(const TypeLayout& type) {
  return type.name + " is another lambda in this build: compilers number them";
}

std::string Named(const TypeLayout& type) {
  return (type.form == TypeForm::kUnion ? "union " : type.form == TypeForm::kEnum ? "enum " : "class ") + type.name;
}

// "member `total_`", "base `Base`".
std::string Named(const TypeMember& member) {
  switch (member.role) {
    case MemberRole::kBase:
    case MemberRole::kVirtualBase:
      return "base `" + member.name + "`";
    case MemberRole::kVtable:
      return "its vtable pointer";
    case MemberRole::kEnumerator:
      return "`" + member.name + "`";
    default:
      return member.name.empty() ? "an anonymous member" : "member `" + member.name + "`";
  }
}

// Members of equal role and name are one; those without a name in their order.
class MemberFinder {
 public:
  explicit MemberFinder(const TypeLayout& type) {
    for (const TypeMember& member : type.members) by_key_.emplace(KeyOf(member), &member);
  }
  const TypeMember* Find(const std::tuple<MemberRole, std::string, int>& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }
  std::tuple<MemberRole, std::string, int> KeyOf(const TypeMember& member) {
    if (member.role == MemberRole::kVtable) return {member.role, "", 0};  // its name has that of the class
    const bool is_base = member.role == MemberRole::kBase || member.role == MemberRole::kVirtualBase;
    if (is_base) return {member.role, CommonTypeName(member.name), 0};
    const int number = member.name.empty() ? unnamed_++ : 0;
    return {member.role, member.name, number};
  }

 private:
  int unnamed_ = 0;
  std::map<std::tuple<MemberRole, std::string, int>, const TypeMember*> by_key_;
};

std::string Moved(const TypeMember& before, const TypeMember& now) {
  const auto place = [](const TypeMember& member) {
    std::string text = std::to_string(member.offset);
    if (member.bit_size) text += " bit " + std::to_string(member.bit_offset);
    return text;
  };
  if (before.bit_size != now.bit_size) return Named(before) + " has another number of bits";
  return Named(before) + " moved from " + place(before) + " to " + place(now);
}

}  // namespace

const std::vector<TypePairs::MemberPair>& TypePairs::Members(const TypePair& pair) const {
  const auto [slot, is_new] = members_.try_emplace(pair);
  if (!is_new) return slot->second;
  const MemberFinder finder(now(pair));
  MemberFinder keys{TypeLayout()};
  for (const TypeMember& member : before(pair).members)
    slot->second.emplace_back(&member, finder.Find(keys.KeyOf(member)));
  return slot->second;
}

const TypePairs::MemberPair& TypePairs::MaybeRenamed(const TypePair& pair) const {
  const auto known = renamed_.find(pair);
  return known != renamed_.end() ? known->second : renamed_[pair] = FindRenamed(pair);
}

TypePairs::MemberPair TypePairs::FindRenamed(const TypePair& pair) const {
  const bool of_library = IsOfLibrary(before(pair));
  std::set<const TypeMember*> found;
  std::vector<const TypeMember*> gone;
  for (const auto& [member, same] : Members(pair)) {
    found.insert(same);
    if (!same && !HoldsNothing(before_, *member, of_library)) gone.push_back(member);
  }
  for (const TypeMember& added : now(pair).members) {
    if (found.contains(&added) || HoldsNothing(now_, added, of_library)) continue;
    for (const TypeMember* removed : gone) {
      const TypeLayout &old = At(before_, removed->type), &built = At(now_, added.type);
      const bool is_base = removed->role == MemberRole::kBase;
      if (removed->role != added.role) continue;
      if (of_library || is_base || (old.form == built.form && old.size == built.size)) return {removed, &added};
    }
  }
  return {nullptr, nullptr};
}

std::vector<TypePair> TypePairs::Behind(const TypePair& pair) const {
  const TypeLayout& old = before(pair);
  const TypeLayout& built = now(pair);
  std::vector<TypePair> behind;
  if (old.form == TypeForm::kPointer && built.form == TypeForm::kPointer) behind.push_back({old.target, built.target});
  for (size_t i = 0; i < std::min(old.arguments.size(), built.arguments.size()); ++i)
    behind.push_back({old.arguments[i], built.arguments[i]});
  for (const uint32_t derived : old.derived) {
    const auto same = std::ranges::find_if(
        built.derived, [&](uint32_t place) { return HasNameOf(At(now_, place), At(before_, derived)); });
    behind.push_back({derived, same == built.derived.end() ? 0 : *same});
  }
  return behind;
}

const std::string& TypePairs::Difference(const TypePair& pair) {
  const auto known = differences_.find(pair);
  if (known != differences_.end()) return known->second;
  differences_.emplace(pair, "");  // types of hostile reports may hold themselves
  return differences_[pair] = Compare(pair);
}

// What has room for an object grows with it.
bool TypePairs::HasChangedArgument(const TypePair& pair) {
  const std::vector<uint32_t>&old = before(pair).arguments, &built = now(pair).arguments;
  for (size_t i = 0; i < std::min(old.size(), built.size()); ++i)
    if (!Difference({old[i], built[i]}).empty()) return true;
  return false;
}

bool TypePairs::IsOfOtherLibrary(const TypePair& pair) {
  Difference(pair);
  return of_other_library_.contains(pair);
}

std::vector<TypePair> TypePairs::ChangedClasses() const {
  std::vector<TypePair> changed;
  for (const auto& [pair, difference] : differences_)
    if (!difference.empty() && IsClass(before(pair))) changed.push_back(pair);
  return changed;
}

std::string TypePairs::Compare(const TypePair& pair) {
  const TypeLayout& old = before(pair);
  const TypeLayout& built = now(pair);
  // What is only declared in one of the builds lies behind pointers there, and cannot be compared.
  if (old.form == TypeForm::kUnknown || built.form == TypeForm::kUnknown) return "";
  if (old.form != built.form || (IsClass(old) && !HasNameOf(old, built))) {
    if (IsOfLibrary(old) || IsOfLibrary(built))
      return old.name + " is " + built.name + " in this build, of another C++ library or with other options of it";
    return IsLambda(old.name) ? AnotherLambda(old) : old.name + " is " + built.name + " in this build";
  }
  switch (old.form) {
    case TypeForm::kClass:
    case TypeForm::kUnion:
      return CompareMembers(pair);
    case TypeForm::kArray: {
      if (old.count != built.count) return old.name + " is " + built.name + " in this build";
      return Difference({old.target, built.target});
    }
    case TypeForm::kPointer: {
      const TypeLayout& target = At(before_, old.target);
      const TypeLayout& target_now = At(now_, built.target);
      if (IsLambda(target.name) && !HasNameOf(target, target_now)) return AnotherLambda(target);
      if (IsClass(target) && IsClass(target_now) && !HasNameOf(target, target_now))
        return old.name + " is " + built.name + " in this build";
      return "";
    }
    default:
      return CompareScalars(old, built);
  }
}

std::string TypePairs::CompareScalars(const TypeLayout& old, const TypeLayout& built) const {
  if (old.size != built.size || (old.form != TypeForm::kEnum && old.is_signed != built.is_signed))
    return old.name + " is " + built.name + " in this build";
  if (old.form != TypeForm::kEnum) return "";
  for (const TypeMember& enumerator : old.members) {
    const auto same = std::ranges::find(built.members, enumerator.name, &TypeMember::name);
    if (same == built.members.end()) return Named(old) + " has no " + Named(enumerator) + " in this build";
    if (same->offset != enumerator.offset)
      return Named(old) + " has other values in this build: " + Named(enumerator) + " was " +
             std::to_string(static_cast<int64_t>(enumerator.offset)) + ", is " +
             std::to_string(static_cast<int64_t>(same->offset));
  }
  return "";
}

bool TypePairs::HoldsNothing(const std::vector<TypeLayout>& types, const TypeMember& member, bool of_library,
                             int depth) const {
  constexpr int kDeepest = 32;  // types of hostile reports may hold themselves
  if (member.role != MemberRole::kBase || depth == kDeepest) return false;
  const TypeLayout& base = At(types, member.type);
  if (base.form == TypeForm::kUnknown) return of_library;
  return base.form == TypeForm::kClass && std::ranges::all_of(base.members, [&](const TypeMember& inner) {
           return HoldsNothing(types, inner, of_library, depth + 1);
         });
}

std::string TypePairs::CompareMembers(const TypePair& pair) {
  const TypeLayout& old = before(pair);
  const TypeLayout& built = now(pair);
  std::vector<std::string> items;
  std::string inner;  // of a member that is a class itself: that class has changed, and this one with it
  std::set<const TypeMember*> found;
  for (const auto& [member, same] : Members(pair)) {
    if (!same) {
      if (!HoldsNothing(before_, *member, IsOfLibrary(old))) items.push_back(Named(*member) + " was removed");
      continue;
    }
    found.insert(same);
    const std::string& difference = Difference({member->type, same->type});
    if (!difference.empty() && inner.empty()) inner = difference;
    if (!difference.empty() && !IsClass(At(before_, member->type)) &&
        At(before_, member->type).form != TypeForm::kArray)
      items.push_back(Named(*member) + " was " + At(before_, member->type).name + ", is " + At(now_, same->type).name);
    else if (member->offset != same->offset || member->bit_offset != same->bit_offset ||
             member->bit_size != same->bit_size)
      items.push_back(Moved(*member, *same));
  }
  for (const TypeMember& member : built.members)
    if (!found.contains(&member) && !HoldsNothing(now_, member, IsOfLibrary(old)))
      items.push_back(Named(member) + " was added");
  if (items.empty() && !inner.empty()) return inner;
  if (items.empty() && old.slots != built.slots)
    items.push_back("it has " + std::to_string(built.slots) + " virtual functions, had " + std::to_string(old.slots));
  if (items.empty() && old.size != built.size)
    items.push_back("its size was " + std::to_string(old.size) + ", is " + std::to_string(built.size));
  if (items.empty()) return "";
  if (IsOfLibrary(old) && inner.empty() && old.size != built.size && !HasChangedArgument(pair))
    of_other_library_.insert(pair);
  if (IsOfLibrary(old) && inner.empty())
    return old.name + " has another layout in this build: it is of another C++ library, or with other options of it";
  std::string text = Named(old) + " has another layout in this build: ";
  for (size_t i = 0; i < std::min(items.size(), kMostItems); ++i) text += (i ? ", " : "") + items[i];
  if (items.size() > kMostItems) text += ", and more";
  return text;
}

const std::string& TypePairs::ChangeBehind(const TypePair& pair) {
  const auto known = behind_.find(pair);
  return known != behind_.end() ? known->second : behind_[pair] = FindChange(pair);
}

std::string TypePairs::FindChange(const TypePair& pair) {
  std::set<TypePair> seen = {pair};
  std::vector<TypePair> left = {pair};
  while (!left.empty()) {
    const TypePair next = left.back();
    left.pop_back();
    if (const std::string& difference = Difference(next); !difference.empty()) return difference;
    std::vector<TypePair> behind = Behind(next);
    for (const auto& [member, same] : Members(next))
      if (same) behind.push_back({member->type, same->type});
    if (before(next).form == TypeForm::kArray) behind.push_back({before(next).target, now(next).target});
    for (const TypePair& other : behind)
      if (seen.insert(other).second) left.push_back(other);
  }
  return "";
}

}  // namespace recrash
