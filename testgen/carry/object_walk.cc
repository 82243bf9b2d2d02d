#include "testgen/carry/object_walk.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

namespace recrash {
namespace {

constexpr size_t kMostObjects = 500'000;
constexpr uint64_t kMostBytes = 64u << 20;  // of one object
constexpr uint64_t kMostSteps = 20'000'000;
constexpr int kMostNesting = 64;

uint64_t WordAt(std::span<const uint8_t> bytes, uint64_t offset) {
  uint64_t word = 0;
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof word)
    std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

bool IsWhole(const TypeLayout& type) { return type.form == TypeForm::kClass || type.form == TypeForm::kUnion; }

bool IsNode(const std::string& name) {
  return name.starts_with("std::_Rb_tree_node<") || name.starts_with("std::_List_node<") ||
         name.starts_with("std::__detail::_Hash_node<");
}

bool IsBaseOfNodes(const std::string& name) {
  return name == "std::_Rb_tree_node_base" || name == "std::__detail::_List_node_base" ||
         name == "std::__detail::_Hash_node_base";
}

bool HasNodes(const std::string& name) {
  for (const char* prefix :
       {"std::map<", "std::set<", "std::multimap<", "std::multiset<", "std::list<", "std::unordered_map<",
        "std::unordered_set<", "std::unordered_multimap<", "std::unordered_multiset<"})
    if (name.starts_with(prefix)) return true;
  return false;
}

// Its first bytes are an object of its first argument's type.
bool IsRawRoom(const std::string& name) {
  return name.starts_with("__gnu_cxx::__aligned_membuf<") || name.starts_with("__gnu_cxx::__aligned_buffer<");
}

}  // namespace

std::optional<uint64_t> FindMember(const TypePairs& types, const TypePair& type, const std::string& name, bool now) {
  std::set<TypePair> seen;
  std::vector<std::pair<TypePair, uint64_t>> left = {{type, 0}};
  while (!left.empty()) {
    const auto [outer, start] = left.back();
    left.pop_back();
    if (!seen.insert(outer).second) continue;
    for (const auto& [member, same] : types.Members(outer)) {
      if (!same) continue;
      const uint64_t offset = start + (now ? same->offset : member->offset);
      if (member->name == name && member->role == MemberRole::kMember) return offset;
      if (IsWhole(types.before({member->type, 0}))) left.push_back({{member->type, same->type}, offset});
    }
  }
  return std::nullopt;
}

void ObjectWalk::AddPointer(const TypePair& target, uint64_t address) { Visit(target, address, true, {}); }

void ObjectWalk::AddVariable(const TypePair& type, uint64_t address) {
  FoundObject object;
  object.address = address;
  object.type = type;
  object.size = object.room = types_->before(type).size;
  object.home = Home::kVariable;
  if (object.size && object.size <= kMostBytes) Add(std::move(object), {});
}

FoundObject ObjectWalk::LookAt(const TypePair& type, std::span<const uint8_t> bytes) {
  FoundObject value;
  value.type = type;
  Look(type, 0, bytes, {}, &value);
  return value;
}

bool ObjectWalk::Run() {
  std::vector<uint8_t> bytes;
  while (!left_.empty()) {
    const auto [key, container] = left_.back();
    left_.pop_back();
    if (objects_.size() > kMostObjects || steps_ > kMostSteps) return false;
    FoundObject object = objects_[key];  // a copy: others are added while it is looked at
    const uint64_t size = types_->before(object.type).size;
    bytes.resize(size * object.live);
    if (!read_(object.address, bytes)) continue;
    for (uint64_t i = 0; i < object.live; ++i)
      Look(object.type, object.address + i * size, std::span(bytes).subspan(i * size, size), container, &object);
    object.is_whole = object.is_whole || objects_[key].is_whole;
    objects_[key] = std::move(object);
  }
  return true;
}

void ObjectWalk::Add(FoundObject object, const Container& container) {
  const Key key{object.address, object.type.before};
  const auto [slot, is_new] = objects_.try_emplace(key, object);
  if (is_new) left_.emplace_back(key, container);
}

// The class that the vtable says, and where its object begins. False: the vtable is of a class that is not known.
bool ObjectWalk::ResolveDynamic(TypePair* type, uint64_t* address) const {
  std::vector<TypePair> left = {*type};
  const auto word = ReadWord(read_, *address);
  const auto name = word ? class_of_vtable_(*word) : std::nullopt;
  if (!name || types_->before(*type).name == *name) return true;
  const TypeLayout& declared = types_->before(*type);
  for (size_t i = 0; i < left.size() && i < 10'000; ++i) {
    if (types_->before(left[i]).name == *name) {
      // Where the declared base lies in it.
      std::vector<std::pair<TypePair, uint64_t>> bases = {{left[i], 0}};
      for (size_t k = 0; k < bases.size() && k < 1000; ++k) {
        if (types_->before(bases[k].first).name == declared.name) {
          *type = left[i];
          *address -= bases[k].second;
          return true;
        }
        for (const auto& [member, same] : types_->Members(bases[k].first))
          if (member->role == MemberRole::kBase && same)
            bases.push_back({{member->type, same->type}, bases[k].second + member->offset});
      }
      return false;
    }
    for (const TypePair& derived : types_->Behind(left[i]))
      if (std::ranges::find(left, derived) == left.end()) left.push_back(derived);
  }
  return false;
}

// How many of its kind a block holds. False: the object does not fit into it.
bool ObjectWalk::Measure(const RecordedBlock& block, FoundObject* object) const {
  const uint64_t size = types_->before(object->type).size;
  const bool is_pointer = types_->before(object->type).form == TypeForm::kPointer;
  object->freed = !block.in_use;
  if (size > block.address + block.size - object->address) return false;
  const auto fits = [&](uint64_t bytes) {
    return UsableSize(bytes) == block.size || UsableSize(bytes) + 16 == block.size;
  };
  const uint64_t lead = object->address - block.address;
  object->home = Home::kPartOfBlock;
  object->room = size;
  const uint64_t most = (block.size - lead) / size;
  if (lead == 8 && ReadWord(read_, block.address) == most && fits(8 + most * size))
    object->count = most;
  else if (lead != 0)
    return true;
  else if (is_pointer)
    object->count = most;
  else if (fits(most * size))
    object->count = fits(size) ? 1 : most;
  else
    return true;
  object->home = Home::kBlock;
  object->lead = lead;
  object->room = block.size - lead;
  object->live = object->count;
  return true;
}

void ObjectWalk::Visit(TypePair type, uint64_t address, bool is_whole, const Container& container) {
  uint8_t probe = 0;
  if (address == 0 || !read_(address, {&probe, 1})) return;
  FoundObject object;
  if (IsWhole(types_->before(type)) && !ResolveDynamic(&type, &address) && !types_->ChangeBehind(type).empty())
    object.problem = "an object of a class that is not known points to it";
  object.address = address;
  object.type = type;
  object.room = types_->before(type).size;
  if (object.room == 0 || object.room > kMostBytes) return;
  if (const auto known = objects_.find({address, type.before}); known != objects_.end()) {
    known->second.is_whole = known->second.is_whole || is_whole;
    return;
  }
  object.is_whole = is_whole;
  const RecordedBlock* block = heap_.Find(address);
  if (block ? !Measure(*block, &object) : heap_.Covers(address)) return;  // it does not fit: just behind an array, say
  if (const StackVariable* variable = block ? nullptr : StackVariableAt(type, address)) {
    object.address = variable->address;
    object.count = object.live = variable->count;
    object.is_whole = true;
  }
  object.size = object.count * types_->before(type).size;
  object.room = std::max(object.room, object.size);
  Add(std::move(object), container);
}

// The variable in which an object of the type lies at the address.
const StackVariable* ObjectWalk::StackVariableAt(const TypePair& type, uint64_t address) const {
  const auto after = stack_.upper_bound(address);
  if (after == stack_.begin()) return nullptr;
  const StackVariable& variable = std::prev(after)->second;
  const uint64_t size = types_->before(type).size, offset = address - variable.address;
  const bool is_in_it = variable.type == type.before && offset % size == 0 && offset / size < variable.count;
  return is_in_it && variable.count <= kMostBytes / size ? &variable : nullptr;
}

void ObjectWalk::Look(const TypePair& type, uint64_t address, std::span<const uint8_t> bytes,
                      const Container& container, FoundObject* object) {
  const TypeLayout& old = types_->before(type);
  // Types of a hostile report may hold themselves.
  if (bytes.size() < old.size || ++steps_ > kMostSteps || depth_ > kMostNesting) return;
  const Deeper deeper(&depth_);
  switch (old.form) {
    case TypeForm::kPointer:
      return LookAtPointer(type, WordAt(bytes, 0), container, object);
    case TypeForm::kClass:
      return LookAtClass(type, address, bytes.first(old.size), container, object);
    case TypeForm::kArray: {
      const TypePair element{old.target, types_->now(type).target};
      const uint64_t size = types_->before(element).size;
      for (uint64_t i = 0; size && i < old.count && (i + 1) * size <= bytes.size(); ++i)
        Look(element, address + i * size, bytes.subspan(i * size, size), container, object);
      return;
    }
    case TypeForm::kMemberPointer: {
      const std::string& difference = types_->Difference({old.target, types_->now(type).target});
      if (!difference.empty() && object->problem.empty())
        object->problem = "it has a pointer to a member of a class that changed";
      return;
    }
    case TypeForm::kUnion:
    case TypeForm::kUnknown:
      return AddUntyped(bytes, object);
    default:
      return;
  }
}

void ObjectWalk::LookAtClass(const TypePair& type, uint64_t address, std::span<const uint8_t> bytes,
                             Container container, FoundObject* object) {
  const TypeLayout& old = types_->before(type);
  if (old.name.starts_with("std::vector<") && LookAtVector(type, bytes, object)) return;
  if (IsRawRoom(old.name) && !old.arguments.empty() && !types_->now(type).arguments.empty())
    return Look({old.arguments[0], types_->now(type).arguments[0]}, address, bytes, container, object);
  if (old.members.empty() && old.size > 1) AddUntyped(bytes, object);
  if (HasNodes(old.name) && !EnterContainer(type, address, &container, object)) return;
  if (old.name.starts_with("std::deque<") && !types_->ChangeBehind(type).empty())
    object->problem = "a std::deque leads to a class that changed";
  for (const auto& [member, same] : types_->Members(type)) {
    if (!same || member->bit_size || member->offset > bytes.size()) continue;
    if (member->role == MemberRole::kVtable || member->role == MemberRole::kVirtualBase) continue;
    Look({member->type, same->type}, address + member->offset, bytes.subspan(member->offset), container, object);
  }
}

// Elements from _M_start to _M_finish, and room for more.
bool ObjectWalk::LookAtVector(const TypePair& type, std::span<const uint8_t> bytes, FoundObject* object) {
  const TypeLayout& old = types_->before(type);
  const auto start = FindMember(*types_, type, "_M_start", false);
  const auto finish = FindMember(*types_, type, "_M_finish", false);
  const auto limit = FindMember(*types_, type, "_M_end_of_storage", false);
  if (!start || !finish || !limit || old.arguments.empty() || types_->now(type).arguments.empty()) return false;
  if (old.name.starts_with("std::vector<bool")) return false;
  FoundObject storage;
  storage.type = {old.arguments[0], types_->now(type).arguments[0]};
  storage.address = WordAt(bytes, *start);
  const uint64_t size = types_->before(storage.type).size;
  const uint64_t used = WordAt(bytes, *finish) - storage.address, room = WordAt(bytes, *limit) - storage.address;
  uint8_t probe = 0;
  if (storage.address == 0) return true;
  if (size == 0 || used > room || room > kMostBytes || used % size || room % size ||
      !read_(storage.address, {&probe, 1})) {
    if (!types_->ChangeBehind(storage.type).empty()) object->problem = "a std::vector in it is damaged";
    return true;
  }
  object->leads_to.push_back(storage.address);
  storage.count = room / size;
  storage.live = used / size;
  storage.size = storage.room = room;
  if (const RecordedBlock* block = heap_.Find(storage.address)) {
    storage.freed = !block->in_use;
    storage.home = block->address == storage.address ? Home::kBlock : Home::kPartOfBlock;
    if (storage.home == Home::kBlock) storage.room = block->size;
  }
  Add(std::move(storage), {});
  return true;
}

bool ObjectWalk::EnterContainer(const TypePair& type, uint64_t address, Container* container, FoundObject* object) {
  const TypeLayout& old = types_->before(type);
  const TypeLayout& built = types_->now(type);
  for (size_t i = 0; i < std::min(old.arguments.size(), built.arguments.size()); ++i) {
    const TypePair node{old.arguments[i], built.arguments[i]};
    if (!IsNode(types_->before(node).name)) continue;
    *container = {node, address, address + old.size};
    return true;
  }
  if (!types_->ChangeBehind(type).empty())
    object->problem = "debug information does not describe the nodes of " + old.name;
  return false;
}

void ObjectWalk::LookAtPointer(const TypePair& type, uint64_t value, const Container& container, FoundObject* object) {
  if (value == 0) return;
  TypePair target{types_->before(type).target, types_->now(type).target};
  object->leads_to.push_back(value);
  const TypeLayout& old = types_->before(target);
  if (IsBaseOfNodes(old.name) && container.node.before) {
    if (value >= container.start && value < container.end) return;
    target = container.node;
  }
  switch (types_->before(target).form) {
    case TypeForm::kUnknown:
      object->untyped.push_back(value);
      return;
    case TypeForm::kClass:
    case TypeForm::kUnion:
    case TypeForm::kPointer:
    case TypeForm::kArray:
      return Visit(target, value, types_->before(type).name.ends_with('&'), container);
    default:
      return;
  }
}

void ObjectWalk::AddUntyped(std::span<const uint8_t> bytes, FoundObject* object) {
  for (uint64_t offset = 0; offset + 8 <= bytes.size(); offset += 8)
    if (const uint64_t word = WordAt(bytes, offset)) {
      object->untyped.push_back(word);
      object->leads_to.push_back(word);
    }
}

// Is there an object of the inner type at the offset in one of the outer type?
bool Holds(const TypePairs& types, const TypePair& outer, uint64_t offset, const TypePair& inner) {
  std::vector<std::pair<TypePair, uint64_t>> left = {{outer, offset}};
  for (int steps = 0; !left.empty() && steps < 10'000; ++steps) {
    const auto [type, at] = left.back();
    left.pop_back();
    if (at == 0 && SameType(types, type, inner)) return true;
    const TypeLayout& old = types.before(type);
    if (at >= old.size) continue;
    if (old.form == TypeForm::kArray && types.before({old.target, 0}).size) {
      left.push_back({{old.target, types.now(type).target}, at % types.before({old.target, 0}).size});
    } else if (IsRawRoom(old.name) && !old.arguments.empty() && !types.now(type).arguments.empty()) {
      left.push_back({{old.arguments[0], types.now(type).arguments[0]}, at});
    } else {
      for (const auto& [member, same] : types.Members(type))
        if (at >= member->offset && member->role != MemberRole::kEnumerator)
          left.push_back({{member->type, same ? same->type : 0}, at - member->offset});
    }
  }
  return false;
}

bool SameType(const TypePairs& types, const TypePair& a, const TypePair& b) {
  if (a.before == b.before) return true;
  const TypeLayout &one = types.before(a), &other = types.before(b);
  return one.form == other.form && one.size == other.size && one.name == other.name && !IsWhole(one);
}

// The larger of two objects is the outer one; of equal ones, the variable, then the one that holds the other.
std::vector<FoundObject> ObjectWalk::TakeObjects() {
  std::vector<FoundObject> all;
  for (auto& [key, object] : objects_) all.push_back(std::move(object));
  objects_.clear();
  std::ranges::sort(all, [](const FoundObject& a, const FoundObject& b) {
    if (a.address != b.address) return a.address < b.address;
    if (a.size != b.size) return a.size > b.size;
    if (a.home != b.home) return a.home == Home::kVariable;
    return a.type < b.type;
  });
  std::vector<FoundObject> outermost;
  for (FoundObject& object : all) {
    if (outermost.empty() || object.address >= outermost.back().end())
      outermost.push_back(std::move(object));
    else
      Absorb(std::move(object), &outermost.back());
  }
  return outermost;
}

void ObjectWalk::Absorb(FoundObject object, FoundObject* around) const {
  const uint64_t size = types_->before(around->type).size;
  const uint64_t offset = (object.address - around->address) % size;
  const bool is_equal = object.address == around->address && object.size == around->size;
  if (is_equal && around->home != Home::kVariable && Holds(*types_, object.type, 0, around->type))
    std::swap(object, *around);
  else if (!Holds(*types_, around->type, offset, object.type) || object.end() > around->end())
    AddConflict(object, around);
  if (!object.problem.empty() && around->problem.empty()) around->problem = object.problem;
  around->is_whole = around->is_whole || (is_equal && object.is_whole);
  around->leads_to.insert(around->leads_to.end(), object.leads_to.begin(), object.leads_to.end());
  around->untyped.insert(around->untyped.end(), object.untyped.begin(), object.untyped.end());
}

// One place with two types, one of which has changed: nobody knows which one is there.
void ObjectWalk::AddConflict(const FoundObject& object, FoundObject* around) const {
  if (types_->Difference(object.type).empty() && types_->Difference(around->type).empty()) return;
  if (around->problem.empty())
    around->problem =
        "objects of " + types_->before(object.type).name + " and " + types_->before(around->type).name + " overlap";
}

}  // namespace recrash
