#include "testgen/symbols/text/render.h"

#include <dwarf.h>

#include <algorithm>

#include "agent/base/printable_text.h"
#include "agent/base/readable_name.h"
#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/dwarf/members.h"
#include "testgen/symbols/dwarf/names.h"
#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/text/scalar_text.h"

namespace recrash {
namespace {

constexpr size_t kMaxLine = 120;
constexpr size_t kMaxText = 60;  // characters of a string
constexpr int kMaxDepth = 2;
constexpr uint64_t kMaxElements = 8;
constexpr size_t kMaxFields = 64;
constexpr uint64_t kMaxObject = 1 << 20;

bool IsChar(Dwarf_Die type) {
  Dwarf_Die stripped = StripType(type);
  return dwarf_tag(&stripped) == DW_TAG_base_type && DieName(stripped) == "char";
}

}  // namespace

bool Renderer::full() const { return text_.size() >= kMaxLine; }

// Cuts at the limit, not within a character, and marks the cut.
std::string Renderer::Take() {
  std::string text = std::move(text_);
  text_.clear();
  // The brackets that were closed at the end stand behind the limit.
  constexpr size_t kSlack = 16;
  if (text.size() <= kMaxLine + kSlack) return text;
  size_t end = kMaxLine;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string Renderer::Parameter(DebugInfo& debug, Dwarf_Die type, std::span<const uint8_t> bytes) {
  debug_ = &debug;
  Value(type, bytes, 0);
  return Take();
}

std::string Renderer::ObjectAt(DebugInfo& debug, Dwarf_Die type, TargetAddress address) {
  debug_ = &debug;
  Pointee(type, address, 0);
  return Take();
}

void Renderer::Value(Dwarf_Die type, std::span<const uint8_t> bytes, int depth) {
  if (full()) return;
  Dwarf_Die resolved = ResolveType(*debug_, type);
  if (bytes.empty() && KindOf(resolved) != TypeKind::kClass) return Add("?");
  switch (KindOf(resolved)) {
    case TypeKind::kEnum:
      return Add(EnumText(*debug_, resolved, bytes));
    case TypeKind::kPointer:
      return Pointer(resolved, {ToUnsigned(bytes)}, depth);
    case TypeKind::kReference:
    case TypeKind::kRvalueReference:
      return Reference(resolved, {ToUnsigned(bytes)}, depth);
    case TypeKind::kClass:
      return Object(resolved, bytes, depth);
    case TypeKind::kArray:
      return Array(resolved, bytes, depth);
    case TypeKind::kMemberPointer:
      return Add(HexNumber(ToUnsigned(bytes)));
    default:
      return Add(BaseText(resolved, bytes));
  }
}

void Renderer::Pointer(Dwarf_Die pointer, TargetAddress address, int depth) {
  if (address.value == 0) return Add("nullptr");
  const auto target = TypeOf(pointer);
  if (!target) return Add(HexNumber(address.value));
  if (IsChar(*target) && Text(address)) return;
  const TypeKind kind = KindOf(*target);
  if (kind == TypeKind::kFunction && FunctionName(address)) return;
  if (kind == TypeKind::kClass && depth == 0) return Pointee(*target, address, depth);
  Add(HexNumber(address.value));
}

void Renderer::Reference(Dwarf_Die reference, TargetAddress address, int depth) {
  const auto target = TypeOf(reference);
  if (!target || depth > 0) return Add(HexNumber(address.value));
  Pointee(*target, address, depth);
}

void Renderer::Pointee(Dwarf_Die target, TargetAddress address, int depth) {
  Dwarf_Die type = ResolveType(*debug_, target);
  if (KindOf(type) == TypeKind::kClass) {
    if (const auto dynamic = DynamicType(type, address)) {
      if (dynamic->has_type) {
        type = dynamic->type;
        address = dynamic->address;
      } else {
        Add(dynamic->name + " as ");
      }
    }
  }
  const uint64_t size = TypeSize(*debug_, type);
  std::vector<uint8_t> bytes(std::min(size, kMaxObject));
  uint8_t probe = 0;
  if (size == 0 && AttributeFlag(type, DW_AT_declaration))
    return Add(SpellType(*debug_, type) + " at " + HexNumber(address.value));  // only declared in all of the program
  if (size == 0 ? !memory_.Read(address, {&probe, 1}) : !memory_.Read(address, bytes)) {
    if (KindOf(type) == TypeKind::kFunction && FunctionName(address)) return;
    const bool is_mapped = memory_.Read(address, {&probe, 1});
    return Add(HexNumber(address.value) + (is_mapped ? "" : ", not mapped or not kept"));
  }
  Value(type, bytes, depth);
}

bool Renderer::Text(TargetAddress address) {
  std::string text;
  bool cut = false;
  for (uint8_t byte = 0;; text += static_cast<char>(byte)) {
    if (!memory_.Read(address + text.size(), {&byte, 1})) return false;
    if (byte == 0) break;
    cut = text.size() == kMaxText;
    if (cut) break;
  }
  Quote(text, cut);
  return true;
}

void Renderer::Quote(std::string_view text, bool cut) {
  // The cut must not fall within a character.
  while (cut && !text.empty() && (static_cast<uint8_t>(text.back()) & 0xc0) == 0x80) text.remove_suffix(1);
  if (cut && !text.empty() && static_cast<uint8_t>(text.back()) >= 0xc0) text.remove_suffix(1);
  Add("\"" + EscapeText(text) + (cut ? "…\"" : "\""));
}

bool Renderer::FunctionName(TargetAddress address) {
  LoadedModule* module = modules_.Find(address);
  if (module == nullptr) return false;
  const uint64_t in_file = address.value - module->bias();
  const auto range = module->names->FunctionAt(in_file);
  if (!range || range->names.empty() || range->start != in_file) return false;
  Add("&" + ReadableName(std::string(range->names.front())));
  return true;
}

// A vtable lies in pages that are read-only after relocation, and a report need not keep those. The file has the same
// value, because it is a plain number.
std::optional<uint64_t> Renderer::OffsetToTop(TargetAddress vtable) {
  if (const auto kept = memory_.ReadWord(vtable - 16)) return kept;
  uint64_t value = 0;
  const bool found = modules_.ReadFile(vtable - 16, {reinterpret_cast<uint8_t*>(&value), sizeof(value)}, true);
  return found ? std::optional(value) : std::nullopt;
}

std::optional<Renderer::Dynamic> Renderer::DynamicType(Dwarf_Die type, TargetAddress address) {
  if (!HasVtablePointer(*debug_, type)) return std::nullopt;
  const auto vtable = memory_.ReadWord(address);
  LoadedModule* module = vtable ? modules_.Find({*vtable}) : nullptr;
  const ElfSymbol* symbol = module == nullptr ? nullptr : module->names->ObjectAt(*vtable - module->bias());
  if (symbol == nullptr || !symbol->name.starts_with("_ZTV")) return std::nullopt;
  constexpr std::string_view kPrefix = "vtable for ";
  const std::string demangled = Demangle(std::string(symbol->name));
  if (!demangled.starts_with(kPrefix)) return std::nullopt;
  Dynamic dynamic;
  dynamic.name = SimplifyName(demangled.substr(kPrefix.size()));
  if (dynamic.name == SpellType(*debug_, type)) return std::nullopt;
  // Two words before the address point, the vtable has the offset to the whole object.
  const auto to_top = OffsetToTop({*vtable});
  // Types of another module would be looked up in the wrong file later on.
  const bool same_file = module->dwarf == &debug_->file();
  const auto derived = same_file && to_top ? debug_->TypeNamed(demangled.substr(kPrefix.size())) : std::nullopt;
  if (derived) {
    dynamic.has_type = true;
    dynamic.type = *derived;
    dynamic.address = address + *to_top;
  }
  return dynamic;
}

void Renderer::Object(Dwarf_Die type, std::span<const uint8_t> bytes, int depth) {
  if (Standard(type, bytes, depth)) return;
  if (depth == 0) Add(SpellType(*debug_, type) + " ");
  if (depth > kMaxDepth) return Add("{…}");
  Add("{");
  bool first = true;
  Fields(type, bytes, depth, first);
  Add("}");
}

// False when the line is full and the rest was left out.
bool Renderer::Fields(Dwarf_Die type, std::span<const uint8_t> bytes, int depth, bool& first) {
  size_t count = 0;
  for (Dwarf_Die& child : Children(type)) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_member && !Field(child, bytes, depth, first)) return false;
    if (tag == DW_TAG_member && ++count > kMaxFields) return false;
    if (tag != DW_TAG_inheritance) continue;
    const auto base = TypeOf(child);
    const auto offset = AttributeNumber(child, DW_AT_data_member_location);
    if (!base || !offset) continue;  // a virtual base is found through the vtable only
    Dwarf_Die resolved = ResolveType(*debug_, *base);
    const uint64_t size = TypeSize(*debug_, resolved);
    if (*offset > bytes.size() || size > bytes.size() - *offset || depth > kMaxDepth + 8) continue;
    if (!Fields(resolved, bytes.subspan(*offset, size), depth + 1, first)) return false;
  }
  return true;
}

bool Renderer::Field(Dwarf_Die member, std::span<const uint8_t> bytes, int depth, bool& first) {
  const auto type = TypeOf(member);
  const std::string name = DieName(member);
  // Static members, and the pointer to the vtable.
  if (!type || AttributeFlag(member, DW_AT_external) || AttributeFlag(member, DW_AT_artificial) ||
      name.starts_with("_vptr"))
    return true;
  if (!first) Add(", ");
  first = false;
  if (text_.size() + name.size() + 4 >= kMaxLine) {
    Add("…");
    return false;
  }
  if (!name.empty()) Add(name + " = ");
  if (const auto value = MemberBytes(*debug_, member, bytes))
    Value(*type, *value, depth + 1);
  else
    Add("?");
  return true;
}

void Renderer::Array(Dwarf_Die array, std::span<const uint8_t> bytes, int depth) {
  const auto element = TypeOf(array);
  const auto count = ArrayCount(array);
  if (!element || !count) return Add("{…}");
  if (IsChar(*element)) {
    const auto end = std::find(bytes.begin(), bytes.end(), 0);
    const size_t length = static_cast<size_t>(end - bytes.begin());
    return Quote({reinterpret_cast<const char*>(bytes.data()), std::min(length, kMaxText)}, length > kMaxText);
  }
  const uint64_t size = TypeSize(*debug_, *element);
  Elements(*element, size == 0 ? 0 : std::min(*count, bytes.size() / size), depth,
           [&](uint64_t i) { return bytes.subspan(i * size, size); });
}

void Renderer::Elements(Dwarf_Die element, uint64_t count, int depth, const ElementReader& read) {
  if (depth > kMaxDepth) return Add("{…}");
  Add("{");
  for (uint64_t i = 0; i < count; ++i) {
    if (i > 0) Add(", ");
    const std::span<const uint8_t> bytes = i == kMaxElements || full() ? std::span<const uint8_t>() : read(i);
    if (bytes.empty()) {
      Add("…");
      break;
    }
    Value(element, bytes, depth + 1);
  }
  Add("}");
}

// Shows classes of libstdc++ by the names of their members: people want the text, not _M_dataplus.
bool Renderer::Standard(Dwarf_Die type, std::span<const uint8_t> bytes, int depth) {
  if (!debug_->ScopeOf(type).starts_with("std::")) return false;
  if (IsOfLibcxx(type)) return Libcxx(type, bytes, depth);
  const std::string name = DieName(type);
  const auto is = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (AttributeFlag(type, DW_AT_declaration)) return false;
  if (is("basic_string<char,")) return StandardText(type, bytes, {"_M_p", 0}, {"_M_string_length", 8});
  if (is("basic_string_view<char,")) return StandardText(type, bytes, {"_M_str", 8}, {"_M_len", 0});
  if (is("vector<") && !is("vector<bool")) return StandardVector(type, bytes, {"_M_start", 0}, {"_M_finish", 8}, depth);
  if (is("unique_ptr<")) return StandardPointer(type, bytes, {"_M_head_impl", 0}, depth);
  if (is("shared_ptr<") || is("weak_ptr<")) return StandardPointer(type, bytes, {"_M_ptr", 0}, depth);
  if (is("map<") || is("set<") || is("multimap<") || is("multiset<"))
    return StandardSize(type, bytes, {"_M_node_count", 40}, depth);
  if (is("unordered_")) return StandardSize(type, bytes, {"_M_element_count", 24}, depth);
  if (is("variant<")) return StandardVariant(type, bytes, depth);
  if (is("optional<")) return StandardOptional(type, bytes, depth);
  if (is("list<")) return StandardSize(type, bytes, {"_M_size", 16}, depth);
  return false;
}

// Shows libc++'s strings as text. Its other classes are shown by their members.
bool Renderer::Libcxx(Dwarf_Die type, std::span<const uint8_t> bytes, int depth) {
  const std::string name = DieName(type);
  if (AttributeFlag(type, DW_AT_declaration)) return false;
  if (name.starts_with("basic_string<char,")) return LibcxxText(bytes);
  if (name.starts_with("basic_string_view<char,")) return StandardText(type, bytes, {"__data_", 0}, {"__size_", 8});
  if (name.starts_with("vector<") && !name.starts_with("vector<bool"))
    return StandardVector(type, bytes, {"__begin_", 0}, {"__end_", 8}, depth);
  return false;
}

// A string is three words. If the lowest bit of the first byte is set, they are capacity, length and address. If not,
// the first byte has the length, and the text follows. (_LIBCPP_ABI_ALTERNATE_STRING_LAYOUT turns the words round; no
// build for x86-64 sets it.)
bool Renderer::LibcxxText(std::span<const uint8_t> bytes) {
  if (bytes.size() != 24) return false;
  if (bytes[0] & 1)
    TextAt({ToUnsigned(bytes.subspan(16, 8))}, ToUnsigned(bytes.subspan(8, 8)));
  else
    Quote({reinterpret_cast<const char*>(bytes.data()) + 1, std::min<size_t>(bytes[0] / 2, 22)}, false);
  return true;
}

// clang leaves out the definition of libstdc++'s inner classes if it emits none of their constructors. Then the offset
// is the one that libstdc++ has had since GCC 5.
std::optional<uint64_t> Renderer::MemberWord(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember member) {
  const uint64_t offset = MemberOffset(*debug_, type, member.name).value_or(member.usual_offset);
  if (offset > bytes.size() || bytes.size() - offset < 8) return std::nullopt;
  return ToUnsigned(bytes.subspan(offset, 8));
}

bool Renderer::StandardText(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember start_member,
                            StandardMember length_member) {
  const auto start = MemberWord(type, bytes, start_member);
  const auto length = MemberWord(type, bytes, length_member);
  if (!start || !length) return false;
  TextAt({*start}, *length);
  return true;
}

void Renderer::TextAt(TargetAddress start, uint64_t length) {
  std::string text(std::min<uint64_t>(length, kMaxText), 0);
  if (memory_.Read(start, {reinterpret_cast<uint8_t*>(text.data()), text.size()}))
    Quote(text, length > kMaxText);
  else
    Add("text of " + std::to_string(length) + " at " + HexNumber(start.value));
}

bool Renderer::StandardVector(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember start_member,
                              StandardMember finish_member, int depth) {
  const auto start = MemberWord(type, bytes, start_member);
  const auto finish = MemberWord(type, bytes, finish_member);
  const auto element = TemplateArgument(type, 0);
  const uint64_t size = element ? TypeSize(*debug_, *element) : 0;
  if (!start || !finish || size == 0 || *finish < *start) return false;
  const uint64_t count = (*finish - *start) / size;
  if (depth == 0) Add(SpellType(*debug_, type) + " ");
  Add("of " + std::to_string(count));
  if (count == 0) return true;
  Add(" ");
  std::vector<uint8_t> one(std::min(size, kMaxObject));
  Elements(*element, count, depth, [&](uint64_t i) -> std::span<const uint8_t> {
    if (size > kMaxObject || !memory_.Read({*start + i * size}, one)) return {};
    return one;
  });
  return true;
}

bool Renderer::StandardPointer(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember member, int depth) {
  const auto target = TemplateArgument(type, 0);
  const auto address = MemberWord(type, bytes, member);
  if (!target || !address) return false;
  if (*address == 0)
    Add("nullptr");
  else if (depth == 0)
    Pointee(*target, {*address}, depth);
  else
    Add(HexNumber(*address));
  return true;
}

// All alternatives lie at the start. The index of the one that is there follows them, in a byte or two.
bool Renderer::StandardVariant(Dwarf_Die type, std::span<const uint8_t> bytes, int depth) {
  const auto offset = MemberOffset(*debug_, type, "_M_index");
  if (!offset || *offset >= bytes.size()) return false;
  std::vector<Dwarf_Die> alternatives;
  for (Dwarf_Die& pack : ChildrenWithTag(type, DW_TAG_GNU_template_parameter_pack))
    alternatives = ChildrenWithTag(pack, DW_TAG_template_type_parameter);
  const uint8_t index = bytes[*offset];
  const auto alternative = index < alternatives.size() ? TypeOf(alternatives[index]) : std::nullopt;
  if (!alternative) {
    Add(index == 0xff ? "valueless" : "alternative " + std::to_string(index));
    return true;
  }
  const uint64_t size = TypeSize(*debug_, *alternative);
  if (size > bytes.size()) return false;
  if (depth == 0) Add(SpellType(*debug_, type) + " ");
  Value(*alternative, bytes.first(size), depth + 1);
  return true;
}

bool Renderer::StandardOptional(Dwarf_Die type, std::span<const uint8_t> bytes, int depth) {
  const auto offset = MemberOffset(*debug_, type, "_M_engaged");
  const auto target = TemplateArgument(type, 0);
  const uint64_t size = target ? TypeSize(*debug_, *target) : 0;
  if (!offset || *offset >= bytes.size() || size > bytes.size() || size == 0) return false;
  if (bytes[*offset] == 0)
    Add("std::nullopt");
  else
    Value(*target, bytes.first(size), depth);
  return true;
}

bool Renderer::StandardSize(Dwarf_Die type, std::span<const uint8_t> bytes, StandardMember member, int depth) {
  const auto count = MemberWord(type, bytes, member);
  if (!count) return false;
  if (depth == 0) Add(SpellType(*debug_, type) + " ");
  Add("of " + std::to_string(*count));
  return true;
}

}  // namespace recrash
