// How an object of the new build is made of the recorded one.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "testgen/carry/carry.h"

namespace recrash {
namespace {

constexpr int kMostNesting = 64;
constexpr uint64_t kMostSteps = 20'000'000;

uint64_t NumberAt(std::span<const uint8_t> bytes, uint64_t size) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), std::min<uint64_t>({size, bytes.size(), sizeof number}));
  return number;
}

void PutWord(std::span<uint8_t> bytes, uint64_t offset, uint64_t word) {
  if (offset <= bytes.size() && bytes.size() - offset >= 8) std::memcpy(bytes.data() + offset, &word, 8);
}

uint64_t SignExtended(uint64_t number, uint64_t bits) {
  if (bits == 0 || bits >= 64) return number;
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return ((number & (sign * 2 - 1)) ^ sign) - sign;
}

uint64_t Bits(std::span<const uint8_t> bytes, uint64_t from, uint64_t count) {
  uint64_t value = 0;
  for (uint64_t i = 0; i < count && (from + i) / 8 < bytes.size(); ++i)
    value |= static_cast<uint64_t>(bytes[(from + i) / 8] >> ((from + i) % 8) & 1) << i;
  return value;
}

void PutBits(std::span<uint8_t> bytes, uint64_t from, uint64_t count, uint64_t value) {
  for (uint64_t i = 0; i < count && (from + i) / 8 < bytes.size(); ++i) {
    uint8_t& byte = bytes[(from + i) / 8];
    const auto bit = static_cast<uint8_t>(1u << ((from + i) % 8));
    byte = static_cast<uint8_t>(value >> i & 1 ? byte | bit : byte & ~bit);
  }
}

bool IsRawRoom(const std::string& name) {
  return name.starts_with("__gnu_cxx::__aligned_membuf<") || name.starts_with("__gnu_cxx::__aligned_buffer<");
}

bool HasVtable(const TypePairs& types, uint32_t place, int depth) {
  for (const TypeMember& member : types.TypeNow(place).members) {
    if (member.role == MemberRole::kVtable || member.role == MemberRole::kVirtualBase) return true;
    const bool is_part = member.role == MemberRole::kBase || member.role == MemberRole::kMember;
    if (is_part && types.TypeNow(member.type).form == TypeForm::kClass && depth < kMostNesting &&
        HasVtable(types, member.type, depth + 1))
      return true;
  }
  return false;
}

}  // namespace

bool Carrier::Fail(const std::string& why) {
  why_ = why;
  return false;
}

std::string Carrier::WhyNotConverted(const TypePair& type) const {
  return types_->before(type).name + " cannot become " + types_->now(type).name;
}

bool Carrier::Convert(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to, uint64_t at) {
  const TypeLayout &old = types_->before(type), &built = types_->now(type);
  const bool is_same = types_->Difference(type).empty();
  if (is_same) std::memcpy(to.data(), from.data(), std::min(from.size(), to.size()));
  if (old.form != built.form && !is_same) return Fail(WhyNotConverted(type));
  // Types of a hostile report may hold themselves.
  if (++steps_ > kMostSteps || depth_ > kMostNesting) return Fail("its type is nested too deeply");
  const Deeper deeper(&depth_);
  if (from.size() < old.size || to.size() < built.size) return true;
  switch (built.form == TypeForm::kUnknown ? TypeForm::kUnknown : old.form) {
    case TypeForm::kPointer:
      return ConvertPointer(type, from, to);
    case TypeForm::kArray:
      return ConvertArray(type, from, to, at);
    case TypeForm::kClass:
      return ConvertClass(type, from, to, at);
    case TypeForm::kInteger:
    case TypeForm::kFloat:
    case TypeForm::kEnum:
      return is_same || ConvertNumber(type, from, to);
    default:
      return is_same || Fail(WhyNotConverted(type));
  }
}

bool Carrier::ConvertArray(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to, uint64_t at) {
  const TypePair element{types_->before(type).target, types_->now(type).target};
  const uint64_t size = types_->before(element).size, size_now = types_->now(element).size;
  for (uint64_t i = 0; i < std::min(types_->before(type).count, types_->now(type).count); ++i) {
    if (size == 0 || (i + 1) * size > from.size() || (i + 1) * size_now > to.size()) break;
    if (!Convert(element, from.subspan(i * size, size), to.subspan(i * size_now, size_now), at + i * size_now))
      return false;
  }
  return true;
}

bool Carrier::ConvertNumber(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to) {
  const TypeLayout &old = types_->before(type), &built = types_->now(type);
  if (old.form == TypeForm::kFloat) {
    double value = 0;
    float narrow = 0;
    if (old.size == 4 && built.size == 8) {
      std::memcpy(&narrow, from.data(), 4);
      value = narrow;
      std::memcpy(to.data(), &value, 8);
      return true;
    }
    return Fail(WhyNotConverted(type));
  }
  if (old.size > 8 || built.size > 8) return Fail(WhyNotConverted(type));
  uint64_t value = NumberAt(from, old.size);
  if (old.is_signed) value = SignExtended(value, old.size * 8);
  if (old.form == TypeForm::kEnum) {
    const auto same_value = [&](const TypeMember& enumerator) { return enumerator.offset == value; };
    const auto name = std::ranges::find_if(old.members, same_value);
    if (name == old.members.end()) return Fail("a value of " + old.name + " has no name");
    const auto same = std::ranges::find(built.members, name->name, &TypeMember::name);
    if (same == built.members.end()) return Fail(built.name + " has no `" + name->name + "`");
    value = same->offset;
  }
  std::memcpy(to.data(), &value, built.size);
  uint64_t back = NumberAt(to, built.size);
  if (built.is_signed) back = SignExtended(back, built.size * 8);
  return back == value || Fail("a value of " + old.name + " does not fit into " + built.name);
}

bool Carrier::ConvertMember(const TypePair& type, const TypeMember& member, const TypeMember& same,
                            std::span<const uint8_t> from, std::span<uint8_t> to, uint64_t at) {
  const TypePair pair{member.type, same.type};
  const TypeLayout& old = types_->before(pair);
  if (member.role == MemberRole::kVtable) {
    PutWord(to, same.offset, NumberAt(from.subspan(std::min<uint64_t>(member.offset, from.size())), 8));
    return true;
  }
  if (member.role == MemberRole::kVirtualBase) return true;
  if (member.bit_size || same.bit_size) {
    const uint64_t size = types_->now(pair).size * 8;
    uint64_t value =
        Bits(from, member.offset * 8 + member.bit_offset, member.bit_size ? member.bit_size : old.size * 8);
    if (old.is_signed) value = SignExtended(value, member.bit_size ? member.bit_size : old.size * 8);
    const uint64_t count = same.bit_size ? same.bit_size : size;
    PutBits(to, same.offset * 8 + same.bit_offset, count, value);
    const uint64_t back = Bits(to, same.offset * 8 + same.bit_offset, count);
    return (types_->now(pair).is_signed ? SignExtended(back, count) : back) == value ||
           Fail("a value of " + types_->before(type).name + "::" + member.name + " does not fit any more");
  }
  const uint64_t size = old.size, size_now = types_->now(pair).size;
  if (member.offset > from.size() || size > from.size() - member.offset || same.offset > to.size() ||
      size_now > to.size() - same.offset)
    return true;  // an empty base may end behind the object
  return Convert(pair, from.subspan(member.offset, size), to.subspan(same.offset, size_now), at + same.offset);
}

bool Carrier::ConvertClass(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to, uint64_t at) {
  const TypeLayout &old = types_->before(type), &built = types_->now(type);
  if (types_->IsOfOtherLibrary(type)) return Fail(old.name + " keeps what it has in other members");
  if (old.name.starts_with("std::vector<") && !old.name.starts_with("std::vector<bool"))
    return ConvertVector(type, from, to);
  if (IsRawRoom(old.name) && !old.arguments.empty() && !built.arguments.empty()) {
    const TypePair held{old.arguments[0], built.arguments[0]};
    if (types_->before(held).size > from.size() || types_->now(held).size > to.size()) return true;
    return Convert(held, from.first(types_->before(held).size), to.first(types_->now(held).size), at);
  }
  const bool is_same = types_->Difference(type).empty();
  // Its value would be lost, and the call might return for that alone.
  if (const auto [gone, added] = types_->MaybeRenamed(type); gone && !is_same)
    return Fail(old.name + " has lost `" + gone->name + "` and got `" + added->name +
                "`: whether that is the same under another name is not known");
  for (const auto& [member, same] : types_->Members(type)) {
    if (!is_same && member->role == MemberRole::kVirtualBase) return Fail("it has virtual bases");
    if (!is_same && member->role == MemberRole::kVtable && !same) return Fail("it has no vtable any more");
    // A vtable has parts, one behind the other: that of the first base has another length now.
    if (same && member->role == MemberRole::kBase && member->offset != 0 && !is_same &&
        HasVtable(*types_, same->type, 0))
      return Fail("it has several vtable pointers");
    if (same && !ConvertMember(type, *member, *same, from, to, at)) return false;
  }
  return is_same || AddMembers(type, to, at);
}

// What the old build did not have begins as value-initialised.
bool Carrier::AddMembers(const TypePair& type, std::span<uint8_t> to, uint64_t at) {
  std::set<const TypeMember*> found;
  for (const auto& [member, same] : types_->Members(type)) found.insert(same);
  for (const TypeMember& member : types_->now(type).members) {
    if (found.contains(&member)) continue;
    if (member.role == MemberRole::kVtable || member.role == MemberRole::kVirtualBase)
      return Fail("it has a vtable in this build, and had none");
    const uint64_t size = types_->TypeNow(member.type).size;
    if (member.offset <= to.size() && size <= to.size() - member.offset &&
        !Initialise(member.type, to.subspan(member.offset, size), at + member.offset, 0))
      return false;
    const std::string kind = member.role == MemberRole::kBase ? "base" : "member";
    carried_.notes.insert(kind + " `" + member.name + "` of class " + types_->now(type).name +
                          " was added: in recorded objects it is zero or empty");
  }
  return true;
}

// Zero, but for what is not valid so: strings and containers lead to themselves when they are empty.
bool Carrier::Initialise(uint32_t type, std::span<uint8_t> to, uint64_t at, int depth) {
  const TypeLayout& built = types_->TypeNow(type);
  if (built.form == TypeForm::kArray && depth < kMostNesting) {
    const uint64_t size = types_->TypeNow(built.target).size;
    for (uint64_t i = 0; size && i < built.count && (i + 1) * size <= to.size(); ++i)
      if (!Initialise(built.target, to.subspan(i * size, size), at + i * size, depth + 1)) return false;
  }
  if (built.form != TypeForm::kClass) return true;
  if (built.name == "std::string" && built.size == 32) PutWord(to, 0, at + 16);
  if (built.name.starts_with("std::list<")) {
    PutWord(to, 0, at);
    PutWord(to, 8, at);
    return true;
  }
  for (const char* tree : {"std::map<", "std::set<", "std::multimap<", "std::multiset<"})
    if (built.name.starts_with(tree)) {
      PutWord(to, 24, at + 8);
      PutWord(to, 32, at + 8);
      return true;
    }
  if (built.name.starts_with("std::unordered_") || built.name.starts_with("std::deque<"))
    return Fail("it has a " + built.name + " in this build, and had none");
  if (HasVtable(*types_, type, 0)) return Fail("it has an object of " + built.name + " in this build, and had none");
  if (built.name.starts_with("std::")) return true;
  for (const TypeMember& member : built.members) {
    const uint64_t size = types_->TypeNow(member.type).size;
    if (member.bit_size || depth >= kMostNesting || member.offset > to.size() || size > to.size() - member.offset)
      continue;
    if (!Initialise(member.type, to.subspan(member.offset, size), at + member.offset, depth + 1)) return false;
  }
  return true;
}

bool Carrier::ConvertVector(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to) {
  const char* const names[] = {"_M_start", "_M_finish", "_M_end_of_storage"};
  uint64_t values[3], offsets[3];
  for (int i = 0; i < 3; ++i) {
    const auto offset = FindMember(*types_, type, names[i], false),
               offset_now = FindMember(*types_, type, names[i], true);
    if (!offset || !offset_now || *offset + 8 > from.size()) return Fail("a std::vector in it is not described");
    values[i] = NumberAt(from.subspan(*offset), 8);
    offsets[i] = *offset_now;
  }
  const Place* place = values[0] ? Find(values[0]) : nullptr;
  if (!place) return true;
  const TypePair element{types_->before(type).arguments[0], types_->now(type).arguments[0]};
  const uint64_t size = types_->before(element).size, size_now = types_->now(element).size;
  const auto start = MapPointer(values[0], element);
  if (!start || size == 0) return Fail("a std::vector in it leads to an object of another type");
  for (int i = 0; i < 3; ++i) PutWord(to, offsets[i], *start + (values[i] - values[0]) / size * size_now);
  return true;
}

bool Carrier::ConvertPointer(const TypePair& type, std::span<const uint8_t> from, std::span<uint8_t> to) {
  const TypePair target{types_->before(type).target, types_->now(type).target};
  const uint64_t value = NumberAt(from, 8);
  const auto mapped = MapPointer(value, target);
  if (!mapped) return Fail("a pointer to " + types_->before(target).name + " leads to what is not there in this build");
  PutWord(to, 0, *mapped);
  return true;
}

// Where what a pointer points to lies now; nothing where the new build has no such thing.
std::optional<uint64_t> Carrier::MapPointer(uint64_t value, const TypePair& target) const {
  const Place* place = Find(value);
  if (!place || !place->changed) return value;
  const FoundObject& object = place->object;
  const uint64_t size = types_->before(object.type).size, size_now = types_->now(object.type).size;
  const uint64_t index = (value - object.address) / size, offset = (value - object.address) % size;
  // Just behind the last element.
  if (value == object.end())
    return types_->before(target).size == size ? std::optional(place->address + index * size_now) : value;
  const auto within = MapOffset(object.type, offset, target, 0);
  if (!within) return std::nullopt;
  const uint64_t mapped = place->address + index * size_now + *within;
  // A word is translated by the recorded variable that it lies in.
  if (object.home == Home::kVariable && mapped >= object.end() && mapped != value) return std::nullopt;
  return mapped;
}

std::optional<uint64_t> Carrier::MapOffset(const TypePair& type, uint64_t offset, const TypePair& target,
                                           int depth) const {
  if (offset == 0 && SameType(*types_, type, target)) return 0;
  if (depth > kMostNesting || ++steps_ > kMostSteps) return std::nullopt;
  const TypeLayout &old = types_->before(type), &built = types_->now(type);
  const bool to_bytes = types_->before(target).form == TypeForm::kInteger && types_->before(target).size == 1;
  if (old.form == TypeForm::kArray) {
    const TypePair element{old.target, built.target};
    const uint64_t size = types_->before(element).size, size_now = types_->now(element).size;
    if (size == 0 || offset / size >= built.count) return std::nullopt;
    const auto within = MapOffset(element, offset % size, target, depth + 1);
    return within ? std::optional(offset / size * size_now + *within) : std::nullopt;
  }
  if (old.form != TypeForm::kClass)
    return (to_bytes || old.form == TypeForm::kUnion) && offset < built.size ? std::optional(offset) : std::nullopt;
  if (IsRawRoom(old.name) && !old.arguments.empty() && !built.arguments.empty())
    return MapOffset({old.arguments[0], built.arguments[0]}, offset, target, depth + 1);
  for (const auto& [member, same] : types_->Members(type)) {
    if (!same || offset < member->offset || member->bit_size) continue;
    const TypePair inner{member->type, same->type};
    if (offset - member->offset >= std::max<uint64_t>(types_->before(inner).size, 1)) continue;
    if (const auto within = MapOffset(inner, offset - member->offset, target, depth + 1)) return same->offset + *within;
  }
  return std::nullopt;
}

}  // namespace recrash
