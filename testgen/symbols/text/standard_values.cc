// Classes of the standard library that hold one value, or a few: pointers, optional, variant, function, chrono.
#include <dwarf.h>

#include <algorithm>
#include <cstdlib>

#include "agent/base/printable_text.h"
#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/dwarf/members.h"
#include "testgen/symbols/dwarf/names.h"
#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/text/standard_class.h"

namespace recrash {
namespace {

Shown Leaf(std::string text) { return {std::move(text), false, {}, false}; }

// Elements of a tuple, by their number: each is a base class, at an offset.
struct TuplePart {
  Dwarf_Die base{};
  uint64_t offset = 0;
  uint64_t number = 0;
};

void CollectParts(DebugInfo& debug, Dwarf_Die type, uint64_t offset, int depth, std::vector<TuplePart>& parts) {
  constexpr int kMaxDepth = 40;
  if (depth > kMaxDepth) return;
  Dwarf_Die resolved = ResolveType(debug, type);
  for (Dwarf_Die& child : Children(resolved)) {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_inheritance && tag != DW_TAG_member) continue;
    const auto part = TypeOf(child);
    if (!part || KindOf(*part) != TypeKind::kClass || AttributeFlag(child, DW_AT_external)) continue;
    Dwarf_Die base = ResolveType(debug, *part);
    const uint64_t at = offset + AttributeNumber(child, DW_AT_data_member_location).value_or(0);
    const std::string name = DieName(base);
    for (const char* leaf : {"_Head_base", "__tuple_leaf"}) {
      const std::vector<std::string> arguments = ArgumentsAfter(name, leaf);
      if (name.starts_with(leaf) && !arguments.empty())
        parts.push_back({base, at, std::strtoull(arguments[0].c_str(), nullptr, 10)});
    }
    if (name.starts_with("_Tuple_impl") || name.starts_with("__tuple_impl"))
      CollectParts(debug, base, at, depth + 1, parts);
  }
}

std::vector<TuplePart> TupleParts(DebugInfo& debug, Dwarf_Die tuple) {
  std::vector<TuplePart> parts;
  CollectParts(debug, tuple, 0, 0, parts);
  std::ranges::sort(parts, {}, &TuplePart::number);
  return parts;
}

Dwarf_Die PointeeOf(const StandardObject& object, Dwarf_Die argument) {
  Dwarf_Die type = ResolveType(object.debug(), argument);
  if (KindOf(type) != TypeKind::kArray) return argument;  // unique_ptr<T[]>
  return TypeOf(type).value_or(argument);
}

// "1000000" and "1" of std::ratio<1, 1000000>.
std::string UnitOf(const std::string& name) {
  const std::vector<std::string> arguments = ArgumentsAfter(name, "duration");
  if (arguments.size() != 2) return "";
  const std::vector<std::string> ratio = ArgumentsAfter(arguments[1], "ratio");
  if (ratio.size() != 2) return "";
  const uint64_t up = std::strtoull(ratio[0].c_str(), nullptr, 10), down = std::strtoull(ratio[1].c_str(), nullptr, 10);
  struct Unit {
    uint64_t up, down;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1, 1000000000, "ns"}, {1, 1000000, "us"}, {1, 1000, "ms"}, {1, 1, "s"},
                             {60, 1, "min"},        {3600, 1, "h"},     {86400, 1, "d"}};
  for (const Unit& unit : kUnits)
    if (unit.up == up && unit.down == down) return unit.name;
  return "* " + std::to_string(up) + (down == 1 ? "" : "/" + std::to_string(down)) + " s";
}

}  // namespace

// What it wraps, in its place: std::array, std::stack, std::filesystem::path.
std::optional<Shown> ShowInner(const StandardObject& object) { return object.Member(object.row.a.name); }

// libstdc++ keeps pointer and deleter as a tuple; libc++'s pointer comes first.
std::optional<Shown> ShowUnique(const StandardObject& object) {
  const auto target = object.Argument(0);
  if (!target) return std::nullopt;
  uint64_t offset = 0;
  if (auto holder = FindMember(object.debug(), object.object.type, "_M_t"); holder && !object.row.is_libcxx) {
    // The tuple is a member of a member of that name.
    for (auto inner = holder; inner;) {
      const auto type = TypeOf(inner->member);
      inner = type ? FindMember(object.debug(), *type, "_M_t") : std::nullopt;
      if (inner) holder = FoundMember{inner->member, holder->offset + inner->offset};
    }
    if (const auto tuple = TypeOf(holder->member))
      for (const TuplePart& part : TupleParts(object.debug(), *tuple))
        if (part.number == 0) offset = holder->offset + part.offset;
  }
  const auto address = object.Word({"", offset});
  if (!address) return std::nullopt;
  return object.builder().PointerTo(PointeeOf(object, *target), {*address}, object.reached);
}

// The control block: a vtable, then how many own the object. libc++ counts from 0.
std::optional<Shown> ShowShared(const StandardObject& object) {
  const auto target = object.Argument(0);
  const auto address = object.Word(object.row.a), control = object.Word(object.row.b);
  if (!target || !address || !control) return std::nullopt;
  if (*control == 0) return object.builder().PointerTo(PointeeOf(object, *target), {*address}, object.reached);
  const bool libcxx = object.row.is_libcxx;
  const auto count = object.memory().ReadNumber({*control + 8}, libcxx ? 8 : 4);
  if (!count) return object.NotPlausible("its control block would be at " + HexNumber(*control));
  const int64_t owners = libcxx ? static_cast<int64_t>(*count) + 1 : static_cast<int32_t>(*count);
  const bool is_weak = object.name().starts_with("weak_ptr");
  if (owners == 0 && is_weak) return Leaf("expired");
  const std::string remark = owners <= 0 ? "(not plausible: " + std::to_string(owners) + " owners)" : "";
  Shown shown = object.builder().PointerTo(PointeeOf(object, *target), {*address}, object.reached);
  if (!remark.empty()) shown.text += (shown.text.empty() ? "" : " ") + remark;
  return shown;
}

std::optional<Shown> ShowReference(const StandardObject& object) {
  const auto address = object.Word(object.row.a);
  if (!address) return std::nullopt;
  return object.builder().PointerTo(object.Argument(0), {*address}, object.reached);
}

std::optional<Shown> ShowTuple(const StandardObject& object) {
  ValueBuilder::Group group = object.builder().Open(object.Head(""), object.reached);
  for (const TuplePart& part : TupleParts(object.debug(), object.object.type)) {
    auto found = FindMember(object.debug(), part.base, object.row.a.name);
    const auto type = found ? TypeOf(found->member) : std::nullopt;
    const uint64_t size = type ? TypeSize(object.debug(), *type) : 0;
    const uint64_t offset = part.offset + (found ? found->offset : 0);
    const auto bytes = object.object.bytes;
    if (!group.is_open) break;
    if (!type || offset > bytes.size() || size > bytes.size() - offset) {
      group.shown.members.push_back({"", Leaf("{}")});  // of an empty class
      continue;
    }
    const TargetAddress address = object.object.address.value == 0 ? TargetAddress{} : object.object.address + offset;
    group.shown.members.push_back(
        {"", object.builder().Value({*type, bytes.subspan(offset, size), address}, object.reached.Inside())});
  }
  return std::move(group.shown);
}

std::optional<Shown> ShowOptional(const StandardObject& object) {
  const auto offset = MemberOffset(object.debug(), object.object.type, object.row.a.name);
  if (!offset || *offset >= object.object.bytes.size()) return std::nullopt;
  const uint8_t engaged = object.object.bytes[*offset];
  if (engaged == 0) return Leaf("std::nullopt");
  if (engaged > 1) return object.NotPlausible("engaged is " + std::to_string(engaged));
  return object.First(object.Argument(0));
}

// All alternatives lie at the start. Behind them lies the index of the one that is there: of libstdc++ a byte, of
// libc++ an unsigned.
std::optional<Shown> ShowVariant(const StandardObject& object) {
  const auto offset = MemberOffset(object.debug(), object.object.type, object.row.a.name);
  const size_t width = object.row.is_libcxx ? 4 : 1;
  const auto bytes = object.object.bytes;
  if (!offset || *offset + width > bytes.size()) return std::nullopt;
  Dwarf_Die type = object.object.type;
  std::vector<Dwarf_Die> alternatives;
  for (Dwarf_Die& pack : ChildrenWithTag(type, DW_TAG_GNU_template_parameter_pack))
    alternatives = ChildrenWithTag(pack, DW_TAG_template_type_parameter);
  const uint64_t index = ToUnsigned(bytes.subspan(*offset, width));
  if (index == (width == 4 ? 0xffffffff : 0xff)) return Leaf(object.Head("valueless"));
  if (index >= alternatives.size()) return object.NotPlausible("alternative " + std::to_string(index));
  const auto alternative = TypeOf(alternatives[index]);
  const uint64_t size = alternative ? TypeSize(object.debug(), *alternative) : 0;
  if (size == 0 || size > bytes.size()) return std::nullopt;
  Shown shown = object.builder().Value({*alternative, bytes.first(size), object.object.address},
                                       {object.reached.level, object.reached.pointers + 1});
  // Which alternative it is can matter more than its value.
  const std::string name = SpellType(object.debug(), *alternative);
  const std::string head = object.builder().Head(type, object.reached);
  shown.text = (head.empty() ? name : head + ": " + name) + (shown.text.empty() ? "" : " " + shown.text);
  return shown;
}

// The function that manages the value is a template of the value's type.
std::optional<Shown> ShowAny(const StandardObject& object) {
  const auto manager = object.Word(object.row.a);
  if (!manager) return std::nullopt;
  if (*manager == 0) return Leaf("std::any without a value");
  const std::string symbol = object.SymbolAt(*manager);
  for (const char* name : {"_Manager_internal", "_Manager_external", "_SmallHandler", "_LargeHandler"})
    if (const auto arguments = ArgumentsAfter(symbol, name); !arguments.empty())
      return Leaf("std::any of " + arguments[0]);
  return object.NotPlausible("its manager would be at " + HexNumber(*manager));
}

// libstdc++: the manager is a member of _Function_handler<R(Args), Target>. libc++: the address of an object of class
// __func<Target, Allocator, R(Args)>, which may lie in the function itself.
std::optional<Shown> ShowFunction(const StandardObject& object) {
  const auto word = object.Word(object.row.a);
  if (!word) return std::nullopt;
  if (*word == 0) return Leaf("std::function without a target");
  std::string target;
  std::optional<uint64_t> plain;
  if (object.row.is_libcxx) {
    const auto vtable = object.memory().ReadWord({*word});
    const auto arguments = ArgumentsAfter(vtable ? object.SymbolAt(*vtable) : "", "__func");
    if (!arguments.empty()) target = arguments[0];
    plain = object.memory().ReadWord({*word + 8});
  } else {
    const auto arguments = ArgumentsAfter(object.SymbolAt(*word), "_Function_handler");
    if (arguments.size() == 2) target = arguments[1];
    plain = object.Word(object.row.b);
  }
  if (target.empty()) return object.NotPlausible("its target would be at " + HexNumber(*word));
  // The target of a plain function is its address.
  if (target.find("(*)") != std::string::npos && plain)
    if (const std::string name = object.SymbolAt(*plain); !name.empty()) return Leaf("std::function of &" + name);
  return Leaf("std::function of " + target);
}

std::optional<Shown> ShowDuration(const StandardObject& object) {
  const std::string unit = UnitOf(object.name());
  auto shown = object.Member(object.row.a.name);
  if (shown && !unit.empty()) shown->text += " " + unit;
  return shown;
}

std::optional<Shown> ShowTimePoint(const StandardObject& object) {
  auto shown = object.Member(object.row.a.name);
  if (shown) shown->text += " since the clock's epoch";
  return shown;
}

// The value lies at the start, whatever the classes around it are called.
std::optional<Shown> ShowAtomic(const StandardObject& object) { return object.First(object.Argument(0)); }

}  // namespace recrash
