#include "testgen/symbols/text/value_builder.h"

#include <dwarf.h>

#include <algorithm>

#include "agent/base/printable_text.h"
#include "agent/base/readable_name.h"
#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/dwarf/members.h"
#include "testgen/symbols/dwarf/names.h"
#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/text/scalar_text.h"
#include "testgen/symbols/text/standard_classes.h"
#include "testgen/symbols/text/union_member.h"

namespace recrash {
namespace {

constexpr size_t kMaxText = 60;  // characters of a string
constexpr int kMaxPointers = 4;
constexpr uint64_t kMaxElements = 8;
constexpr size_t kMaxFields = 100;
constexpr uint64_t kMaxObject = 1 << 20;

bool IsChar(Dwarf_Die type) {
  Dwarf_Die stripped = StripType(type);
  return dwarf_tag(&stripped) == DW_TAG_base_type && DieName(stripped) == "char";
}

Shown Leaf(std::string text) { return {std::move(text), false, {}, false}; }

std::string Joined(const std::string& before, const std::string& after) {
  return before + (before.empty() || before == "&" || after.empty() ? "" : " ") + after;
}

}  // namespace

std::string Quoted(std::string_view text, bool cut) {
  // The cut must not fall within a character.
  while (cut && !text.empty() && (static_cast<uint8_t>(text.back()) & 0xc0) == 0x80) text.remove_suffix(1);
  if (cut && !text.empty() && static_cast<uint8_t>(text.back()) >= 0xc0) text.remove_suffix(1);
  return "\"" + EscapeText(text) + (cut ? "…\"" : "\"");
}

ValueBuilder::Group ValueBuilder::Open(std::string text, Reached reached) {
  Group group{{std::move(text), true, {}, false}, reached.level < levels_};
  if (!group.is_open) left_out_ = group.shown.is_cut = true;
  return group;
}

std::string ValueBuilder::Head(Dwarf_Die type, Reached reached) {
  return reached.is_outermost() ? SpellType(view_.debug, type) : "";
}

Shown ValueBuilder::Value(const Object& object, Reached reached) {
  ++count_;
  Dwarf_Die resolved = ResolveType(view_.debug, object.type);
  const std::span<const uint8_t> bytes = object.bytes;
  if (bytes.empty() && KindOf(resolved) != TypeKind::kClass) return Leaf("?");
  switch (KindOf(resolved)) {
    case TypeKind::kEnum:
      return Leaf(EnumText(view_.debug, resolved, bytes));
    case TypeKind::kPointer:
      return Pointer(resolved, {ToUnsigned(bytes)}, reached);
    case TypeKind::kReference:
    case TypeKind::kRvalueReference:
      return Reference(resolved, {ToUnsigned(bytes)}, reached);
    case TypeKind::kClass:
      return Class({resolved, bytes, object.address}, "", reached);
    case TypeKind::kArray:
      return Array({resolved, bytes, object.address}, reached);
    case TypeKind::kMemberPointer:
      return MemberPointer(resolved, bytes);
    default:
      return Leaf(BaseText(resolved, bytes));
  }
}

void ValueBuilder::NoteDeadStack(TargetAddress address, const AddressKind& kind) {
  const Report& report = view_.memory.report();
  const bool was_dead = kind.kind == AddressKind::kLiveStack && address < view_.entry_sp &&
                        report.FindMapping(address) == report.FindMapping(view_.entry_sp);
  if (kind.kind == AddressKind::kDeadStack || was_dead) reaches_dead_stack_ = true;
}

Shown ValueBuilder::BadAddress(TargetAddress address) {
  const AddressKind kind = view_.addresses.KindOf(address);
  std::string text = HexNumber(address.value);
  if (!kind.clause.empty() && kind.kind != AddressKind::kLiveStack) text += ", " + kind.clause;
  return Leaf(text);
}

Shown ValueBuilder::Pointer(Dwarf_Die pointer, TargetAddress address, Reached reached) {
  const auto target = TypeOf(pointer);
  if (target && address.value != 0 && IsChar(*target))
    if (auto text = Text(address)) return Leaf(*std::move(text));
  return PointerTo(target, address, reached);
}

Shown ValueBuilder::PointerTo(std::optional<Dwarf_Die> target, TargetAddress address, Reached reached) {
  if (address.value == 0) return Leaf("nullptr");
  if (!target) return BadAddress(address);
  const TypeKind kind = KindOf(*target);
  if (kind == TypeKind::kFunction) {
    if (auto name = FunctionName(address)) return Leaf(*std::move(name));
    return BadAddress(address);
  }
  if (std::ranges::find(above_, address) != above_.end()) return Leaf(HexNumber(address.value) + ", shown above");
  if (reached.pointers >= kMaxPointers) return Leaf(HexNumber(address.value));
  if (kind == TypeKind::kClass && reached.is_outermost()) return At(*target, address, reached);
  if (reached.level >= levels_ && kind == TypeKind::kClass) {
    left_out_ = true;
    return {"&", true, {}, true};
  }
  Shown shown = At(*target, address, reached.Behind());
  if (!shown.text.starts_with("0x")) shown.text = "&" + shown.text;
  return shown;
}

Shown ValueBuilder::Reference(Dwarf_Die reference, TargetAddress address, Reached reached) {
  const auto target = TypeOf(reference);
  if (!target) return Leaf(HexNumber(address.value));
  if (reached.is_outermost()) return At(*target, address, reached);
  return PointerTo(target, address, reached);
}

Shown ValueBuilder::At(Dwarf_Die target, TargetAddress address, Reached reached) {
  Dwarf_Die type = ResolveType(view_.debug, target);
  std::string head;
  if (KindOf(type) == TypeKind::kClass) {
    if (const auto dynamic = DynamicType(type, address)) {
      head = dynamic->name;
      if (dynamic->has_type) {
        type = dynamic->type;
        address = dynamic->address;
        if (reached.is_outermost()) head.clear();
      } else {
        head += " as";
      }
    }
  }
  const uint64_t size = TypeSize(view_.debug, type);
  std::vector<uint8_t> bytes(std::min(size, kMaxObject));
  uint8_t probe = 0;
  if (size == 0 && AttributeFlag(type, DW_AT_declaration))
    return Leaf(SpellType(view_.debug, type) + " at " + HexNumber(address.value));  // only declared in all the program
  if (size == 0 ? !view_.memory.Read(address, {&probe, 1}) : !view_.memory.Read(address, bytes)) {
    if (KindOf(type) == TypeKind::kFunction)
      if (auto name = FunctionName(address)) return Leaf(*std::move(name));
    Shown bad = BadAddress(address);
    const bool is_kept = view_.memory.Read(address, {&probe, 1});
    if (!is_kept && bad.text == HexNumber(address.value)) bad.text += ", not mapped or not kept";
    return bad;
  }
  const AddressKind kind = view_.addresses.KindOf(address);
  NoteDeadStack(address, kind);
  if (kind.is_bad()) head = Joined(head, "(" + kind.clause + ")");
  above_.push_back(address);
  ++count_;
  Shown shown = KindOf(type) == TypeKind::kClass ? Class({type, bytes, address}, head, reached)
                                                 : Value({type, bytes, address}, reached);
  if (KindOf(type) != TypeKind::kClass && kind.is_bad()) shown.text += " (" + kind.clause + ")";
  above_.pop_back();
  return shown;
}

std::optional<std::string> ValueBuilder::Text(TargetAddress address) {
  std::string text;
  bool cut = false;
  for (uint8_t byte = 0;; text += static_cast<char>(byte)) {
    if (!view_.memory.Read(address + text.size(), {&byte, 1})) return std::nullopt;
    if (byte == 0) break;
    cut = text.size() == kMaxText;
    if (cut) break;
  }
  const AddressKind kind = view_.addresses.KindOf(address);
  NoteDeadStack(address, kind);
  return Quoted(text, cut) + (kind.is_bad() ? " (" + kind.clause + ")" : "");
}

Shown ValueBuilder::TextAt(TargetAddress start, uint64_t length) {
  std::string text(std::min<uint64_t>(length, kMaxText), 0);
  if (view_.memory.Read(start, {reinterpret_cast<uint8_t*>(text.data()), text.size()}))
    return Leaf(Quoted(text, length > kMaxText));
  return Leaf("text of " + std::to_string(length) + " at " + BadAddress(start).text);
}

std::optional<std::string> ValueBuilder::FunctionName(TargetAddress address) {
  LoadedModule* module = view_.modules.Find(address);
  if (module == nullptr) return std::nullopt;
  const uint64_t in_file = address.value - module->bias();
  const auto range = module->names->FunctionAt(in_file);
  if (!range || range->names.empty() || range->start != in_file) return std::nullopt;
  return "&" + ReadableName(std::string(range->names.front()));
}

// The Itanium ABI: a pointer to data is the member's offset, -1 for null. A pointer to a function is an address, or 1
// plus the offset in the vtable; the second word is added to `this`.
Shown ValueBuilder::MemberPointer(Dwarf_Die pointer, std::span<const uint8_t> bytes) {
  const uint64_t value = ToUnsigned(bytes);
  const auto owner = AttributeDie(pointer, DW_AT_containing_type);
  if (bytes.size() == 16) {
    if (value == 0) return Leaf("nullptr");
    if ((value & 1) != 0) return Leaf("virtual function " + std::to_string(value / 8) + " of the vtable");
    return Leaf(FunctionName({value}).value_or(HexNumber(value)));
  }
  if (value == ~uint64_t{0}) return Leaf("nullptr");
  if (owner) {
    Dwarf_Die type = ResolveType(view_.debug, *owner);
    for (Dwarf_Die& member : ChildrenWithTag(type, DW_TAG_member))
      if (AttributeNumber(member, DW_AT_data_member_location) == value)
        return Leaf("&" + SpellType(view_.debug, type) + "::" + DieName(member));
  }
  return Leaf("offset " + std::to_string(value));
}

// A vtable lies in pages that are read-only after relocation, and a report need not keep those. The file has the same
// value, because it is a plain number.
std::optional<uint64_t> ValueBuilder::OffsetToTop(TargetAddress vtable) {
  if (const auto kept = view_.memory.ReadWord(vtable - 16)) return kept;
  uint64_t value = 0;
  const bool found = view_.modules.ReadFile(vtable - 16, {reinterpret_cast<uint8_t*>(&value), sizeof(value)}, true);
  return found ? std::optional(value) : std::nullopt;
}

std::optional<ValueBuilder::Dynamic> ValueBuilder::DynamicType(Dwarf_Die type, TargetAddress address) {
  if (!HasVtablePointer(view_.debug, type)) return std::nullopt;
  const auto vtable = view_.memory.ReadWord(address);
  LoadedModule* module = vtable ? view_.modules.Find({*vtable}) : nullptr;
  const ElfSymbol* symbol = module == nullptr ? nullptr : module->names->ObjectAt(*vtable - module->bias());
  if (symbol == nullptr || !symbol->name.starts_with("_ZTV")) return std::nullopt;
  constexpr std::string_view kPrefix = "vtable for ";
  const std::string demangled = Demangle(std::string(symbol->name));
  if (!demangled.starts_with(kPrefix)) return std::nullopt;
  Dynamic dynamic;
  dynamic.name = SimplifyName(demangled.substr(kPrefix.size()));
  if (dynamic.name == SpellType(view_.debug, type)) return std::nullopt;
  // Two words before the address point, the vtable has the offset to the whole object.
  const auto to_top = OffsetToTop({*vtable});
  // Types of another module would be looked up in the wrong file later on.
  const bool same_file = module->dwarf == &view_.debug.file();
  const auto derived = same_file && to_top ? view_.debug.TypeNamed(demangled.substr(kPrefix.size())) : std::nullopt;
  if (derived) {
    dynamic.has_type = true;
    dynamic.type = *derived;
    dynamic.address = address + *to_top;
  }
  return dynamic;
}

Shown ValueBuilder::Class(const Object& object, const std::string& remark, Reached reached) {
  if (auto standard = StandardClass(*this, object, reached)) {
    if (!remark.empty()) standard->text = Joined(remark, standard->text);
    return *std::move(standard);
  }
  if (auto mutex = Mutex(object)) return *std::move(mutex);
  Group group = Open(Joined(Head(object.type, reached), remark), reached);
  if (group.is_open) Fields(object, reached.Inside(), group.shown);
  return std::move(group.shown);
}

// glibc's: a union of bytes and of a struct that begins with lock, count, owner and users.
std::optional<Shown> ValueBuilder::Mutex(const Object& object) {
  Dwarf_Die type = object.type;
  constexpr uint64_t kOwner = 8;
  if (dwarf_tag(&type) != DW_TAG_union_type || object.bytes.size() < kOwner + 8) return std::nullopt;
  const auto data = FindMember(view_.debug, type, "__data");
  auto inner = data ? TypeOf(const_cast<Dwarf_Die&>(data->member)) : std::nullopt;
  if (!inner || DieName(*inner) != "__pthread_mutex_s") return std::nullopt;
  const uint64_t lock = ToUnsigned(object.bytes.first(4));
  owner_ = static_cast<int32_t>(ToUnsigned(object.bytes.subspan(kOwner, 4)));
  if (lock == 0) return Leaf("unlocked");
  const Report& report = view_.memory.report();
  if (std::ranges::find(report.threads, *owner_, &Thread::id) == report.threads.end())
    return Leaf("not plausible: locked by " + std::to_string(*owner_) + ", which is no thread");
  return Leaf("locked by thread " + std::to_string(*owner_));
}

void ValueBuilder::Fields(const Object& object, Reached reached, Shown& into) {
  Dwarf_Die type = object.type;
  constexpr int kMaxBases = 12;
  for (Dwarf_Die& child : Children(type)) {
    const int tag = dwarf_tag(&child);
    if (into.members.size() >= kMaxFields) {
      into.is_cut = true;
      return;
    }
    if (tag == DW_TAG_member) Field(child, object, reached, into);
    if (tag != DW_TAG_inheritance) continue;
    const auto base = TypeOf(child);
    const auto offset = AttributeNumber(child, DW_AT_data_member_location);
    if (!base || !offset) continue;  // a virtual base is found through the vtable only
    Dwarf_Die resolved = ResolveType(view_.debug, *base);
    const uint64_t size = TypeSize(view_.debug, resolved);
    if (*offset > object.bytes.size() || size > object.bytes.size() - *offset) continue;
    if (reached.level > levels_ + kMaxBases) return;
    const TargetAddress address = object.address.value == 0 ? TargetAddress{} : object.address + *offset;
    const Object part = {resolved, object.bytes.subspan(*offset, size), address};
    // A base of the standard library is a container that was given more members.
    if (auto standard = StandardClass(*this, part, reached)) {
      into.members.push_back({"", *std::move(standard)});
      continue;
    }
    Fields(part, reached, into);
  }
}

void ValueBuilder::Field(Dwarf_Die member, const Object& object, Reached reached, Shown& into) {
  const auto type = TypeOf(member);
  const std::string name = DieName(member);
  // Static members, and the pointer to the vtable.
  if (!type || AttributeFlag(member, DW_AT_external) || AttributeFlag(member, DW_AT_artificial) ||
      name.starts_with("_vptr"))
    return;
  const std::string label = name.empty() ? "" : name + " = ";
  const auto bytes = MemberBytes(view_.debug, member, object.bytes);
  if (!bytes) return into.members.push_back({label, Leaf("?")});
  const uint64_t offset = AttributeNumber(member, DW_AT_data_member_location).value_or(0);
  const TargetAddress address = object.address.value == 0 ? TargetAddress{} : object.address + offset;
  Dwarf_Die resolved = ResolveType(view_.debug, *type);
  if (dwarf_tag(&resolved) == DW_TAG_union_type) {
    if (auto active = ActiveMember(view_.debug, object.type, object.bytes, resolved)) {
      Group group = Open("", reached);
      if (group.is_open) Field(*active, {resolved, *bytes, address}, reached.Inside(), group.shown);
      return into.members.push_back({label, std::move(group.shown)});
    }
  }
  into.members.push_back({label, Value({*type, *bytes, address}, reached)});
  if (into.members.back().value.text.starts_with("locked by thread ") && owner_)
    held_.push_back({SpellType(view_.debug, object.type) + "::" + name, *owner_});
}

Shown ValueBuilder::Array(const Object& array, Reached reached) {
  Dwarf_Die type = array.type;
  const auto element = TypeOf(type);
  const auto count = ArrayCount(type);
  if (!element || !count) return {"", true, {}, true};
  if (IsChar(*element)) {
    const auto end = std::find(array.bytes.begin(), array.bytes.end(), 0);
    const size_t length = static_cast<size_t>(end - array.bytes.begin());
    return Leaf(
        Quoted({reinterpret_cast<const char*>(array.bytes.data()), std::min(length, kMaxText)}, length > kMaxText));
  }
  const uint64_t size = TypeSize(view_.debug, *element);
  const uint64_t held = size == 0 ? 0 : std::min(*count, array.bytes.size() / size);
  Group group = Open("", reached);
  for (uint64_t i = 0; group.is_open && i < std::min(held, kMaxElements); ++i) {
    const TargetAddress address = array.address.value == 0 ? TargetAddress{} : array.address + i * size;
    group.shown.members.push_back(
        {"", Value({*element, array.bytes.subspan(i * size, size), address}, reached.Inside())});
  }
  if (group.is_open) group.shown.is_cut = held > kMaxElements;
  return std::move(group.shown);
}

}  // namespace recrash
