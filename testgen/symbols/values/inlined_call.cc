#include "testgen/symbols/values/inlined_call.h"

#include <dwarf.h>

#include <algorithm>

#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/values/recorded_call.h"

namespace recrash {
namespace {

constexpr int kStackPointer = 7;  // DWARF's number of rsp
// A function that calls no other may keep locals so far below its stack pointer (System V ABI).
constexpr uint64_t kRedZone = 128;
// The guest writes at most 64 words of 16 bytes to the stack (PreparedCall).
constexpr uint64_t kMostOnStack = 1024;
constexpr uint64_t kMostScratch = 32768;
// Room for objects that a twin had on its stack: a few strings, or some dozens of numbers.
constexpr uint64_t kMostSpare = 512;

uint64_t AlignedUp(uint64_t offset) { return (offset + 15) & ~uint64_t{15}; }

// The same declaration in the source, which two units may both have.
bool SameSource(const LiveFunction& a, const LiveFunction& b) {
  return a.linkage_name == b.linkage_name && a.declared.file == b.declared.file && a.declared.line == b.declared.line &&
         a.parameters.size() == b.parameters.size();
}

bool IsSameFunction(const LiveFunction& inlined, const CodeInfo& code) {
  if (!code.scopes || code.live.empty() || code.live.back().inlined) return false;
  const LiveFunction& copy = code.live.back();
  return AbstractOrigin(inlined.die).addr == AbstractOrigin(copy.die).addr || SameSource(inlined, copy);
}

// Where the parameter first has a place, if that is after `at`; nothing if it has one there, or never.
std::optional<uint64_t> FirstPlaceAfter(Dwarf_Die parameter, uint64_t at) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(&parameter, DW_AT_location, &attribute) == nullptr) return std::nullopt;
  Dwarf_Addr base = 0, start = 0, end = 0;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  std::optional<uint64_t> first;
  for (ptrdiff_t i = 0; (i = dwarf_getlocations(&attribute, i, &base, &start, &end, &ops, &count)) > 0;) {
    if (at >= start && at < end) return std::nullopt;
    if (start > at && (!first || start < *first)) first = start;
  }
  return first;
}

ReplayWord OnStack(uint64_t offset) {
  ReplayWord word;
  word.location = abi::Location::kStack;
  word.stack_offset = static_cast<uint16_t>(offset);
  word.source = ValueSource::kDwarf;
  return word;
}

// What is passed for one parameter, and the object that has to be written to the stack for it.
struct Passed {
  Bytes bytes;
  Bytes object;
  ValueSource source = ValueSource::kDwarf;
};

// The class to which the parameter points; nothing if it points to no class.
std::optional<Dwarf_Die> PointedClass(DebugInfo& debug, const ParameterInfo& info) {
  if (!info.type) return std::nullopt;
  Dwarf_Die type = ResolveType(debug, *info.type);
  const int tag = dwarf_tag(&type);
  if (tag != DW_TAG_pointer_type && tag != DW_TAG_reference_type) return std::nullopt;
  const auto pointee = TypeOf(type);
  if (!pointee) return std::nullopt;
  Dwarf_Die object = ResolveType(debug, *pointee);
  return KindOf(object) == TypeKind::kClass ? std::optional(object) : std::nullopt;
}

// The size of the closure that the parameter points to, if it does. A lambda has a type of its own, without a name.
uint64_t ClosureSize(DebugInfo& debug, const ParameterInfo& info) {
  auto object = PointedClass(debug, info);
  if (!object || !info.described.is_receiver) return 0;
  const std::string name = DieName(*object);
  return name.empty() || name.starts_with("<lambda") ? TypeSize(debug, *object) : 0;
}

// Adds the variables of the class in a function, those of its blocks too.
void AddVariables(DebugInfo& debug, Dwarf_Die scope, const Dwarf_Die& type, int depth, std::vector<Dwarf_Die>& found) {
  constexpr int kDeepest = 32;
  for (Dwarf_Die& child : Children(scope)) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block && depth < kDeepest) AddVariables(debug, child, type, depth + 1, found);
    if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) continue;
    const auto of = TypeOf(child);
    if (of && ResolveType(debug, *of).addr == type.addr) found.push_back(child);
  }
}

// The compiler took the closure apart, and nothing points to it any more. Its captures are those of the variable of its
// type in the functions around: each lambda of the source has a type of its own.
std::optional<Bytes> ClosureAt(ValueReader& values, const ParameterInfo& info, uint64_t size) {
  const CodeInfo& code = values.code();
  const auto type = PointedClass(*code.debug, info);
  if (!type || !code.scopes) return std::nullopt;
  std::vector<Dwarf_Die> variables;
  for (const Dwarf_Die& inlined : code.scopes->inlined) AddVariables(*code.debug, inlined, *type, 0, variables);
  AddVariables(*code.debug, code.scopes->function, *type, 0, variables);
  for (const Dwarf_Die& variable : variables)
    if (auto bytes = values.AtPc(variable, size)) return bytes;
  return std::nullopt;
}

// An object without members needs no bytes: the function cannot look at any.
bool IsEmptyObject(DebugInfo& debug, const ParameterInfo& info) {
  auto object = PointedClass(debug, info);
  return object && TypeSize(debug, *object) == 1 && ChildrenWithTag(*object, DW_TAG_member).empty() &&
         ChildrenWithTag(*object, DW_TAG_inheritance).empty();
}

std::optional<Passed> ValueAt(ValueReader& values, const ParameterInfo& info, const PlacedParameter& placed,
                              TargetAddress object) {
  if (!info.has_die) return std::nullopt;
  const uint64_t size = info.described.type.size;
  if (!placed.indirect) {
    auto bytes = values.AtPc(info.die, size);
    return bytes ? std::optional(Passed{std::move(*bytes), {}}) : std::nullopt;
  }
  if (auto address = values.AddressAtPc(info.die)) return Passed{std::move(*address), {}};
  auto bytes = values.AtPc(info.die, size);
  return bytes ? std::optional(Passed{*FirstBytes(object.value, 8), std::move(*bytes)}) : std::nullopt;
}

std::optional<Passed> ValueOf(std::span<ValueReader* const> readers, const ParameterInfo& info,
                              const PlacedParameter& placed, TargetAddress object, OtherArguments* others,
                              size_t position) {
  if (placed.pieces.empty()) return Passed{};
  if (auto passed = others ? others->Passed(position, placed) : std::nullopt)
    return Passed{*std::move(passed), {}, ValueSource::kRegister};
  for (ValueReader* values : readers)
    if (auto passed = ValueAt(*values, info, placed, object)) return passed;
  DebugInfo& debug = *readers.front()->code().debug;
  if (placed.indirect) return std::nullopt;
  if (IsEmptyObject(debug, info)) return Passed{*FirstBytes(object.value, 8), {}};
  const uint64_t size = ClosureSize(debug, info);
  for (ValueReader* values : readers)
    if (auto closure = size ? ClosureAt(*values, info, size) : std::nullopt)
      return Passed{*FirstBytes(object.value, 8), std::move(*closure)};
  return std::nullopt;
}

const CodeInfo* FindCopy(CodeReader& code, const CodeInfo& around, const LiveFunction& inlined) {
  if (inlined.linkage_name.empty()) return nullptr;
  for (const uint64_t address : around.module->names->FunctionsNamed(inlined.linkage_name)) {
    const CodeInfo& found = code.At({address + around.module->bias()});
    const bool begins_there = found.entry.value == address + around.module->bias();
    if (begins_there && IsSameFunction(inlined, found)) return &found;
  }
  return nullptr;
}

uint64_t ResultSize(DebugInfo& debug, const LiveFunction& function) {
  Dwarf_Die die = function.die;
  const auto type = AttributeDie(die, DW_AT_type);
  return type ? TypeSize(debug, *type) : 0;
}

// Nothing if the call needs too much.
std::optional<InlinedLayout> LayOut(DebugInfo& debug, const PlacedCall& places, const LiveFunction& inlined,
                                    TargetAddress below) {
  InlinedLayout layout;
  uint64_t end = 0;
  for (const PlacedParameter& placed : places.parameters)
    for (const PlacedPiece& piece : placed.pieces)
      if (piece.location == abi::Location::kStack) end = std::max(end, piece.stack_offset + piece.size);
  uint64_t written = end;
  const auto reserve = [&end](uint64_t size) {
    const uint64_t at = AlignedUp(end);
    end = at + size;
    return at;
  };
  if (places.result_in_memory) layout.result = reserve(ResultSize(debug, inlined));
  for (size_t i = 0; i < places.parameters.size(); ++i) {
    const ParameterInfo& info = inlined.parameters[i];
    const uint64_t size = places.parameters[i].indirect ? info.described.type.size : ClosureSize(debug, info);
    written += AlignedUp(size);
    layout.objects.push_back(reserve(size));
  }
  layout.spare_size = std::min(kMostSpare, kMostOnStack - std::min(kMostOnStack, written));
  layout.spare = reserve(layout.spare_size);
  end = AlignedUp(end) + kRedZone;
  if (written > kMostOnStack || end > kMostScratch || below.value < end) return std::nullopt;
  // At a function's first instruction the return address makes the stack pointer odd by eight.
  layout.entry_sp = {((below.value - end) & ~uint64_t{15}) - 8};
  return layout;
}

}  // namespace

InlinedCall FindInlinedCall(CodeReader& code, Unwinder& unwinder, const UnwoundFrame& around,
                            const LiveFunction& inlined) {
  InlinedCall call;
  const CodeInfo& here = code.At(around.lookup_pc());
  Dwarf_Die die = inlined.die;
  const auto begin = DebugInfo::EntryOf(die);
  const std::optional<TargetAddress> sp = around.registers.sp();
  call.why_not = "it is inlined, and where its call begins is not known";
  if (!begin || !sp || around.cfa.value == 0) return call;
  call.at = {*begin + here.module->bias()};
  for (const uint64_t other : DebugInfo::OtherEntriesOf(die)) call.others.push_back({other + here.module->bias()});
  for (const ParameterInfo& parameter : inlined.parameters)
    if (const auto later = parameter.has_die ? FirstPlaceAfter(parameter.die, *begin) : std::nullopt)
      call.later.push_back({*later + here.module->bias()});
  const auto rule = unwinder.CfaAt(call.at);
  call.sp = rule && rule->base == kStackPointer ? around.cfa - static_cast<uint64_t>(rule->offset) : *sp;
  call.copy = FindCopy(code, here, inlined);
  const LiveFunction& called = call.copy ? call.copy->live.back() : inlined;
  const auto places = PlacesOf(*here.debug, called);
  call.why_not = "it is inlined, and how its arguments are passed is not known";
  if (!places || called.parameters.size() != inlined.parameters.size()) return call;
  call.places = *places;
  const auto layout = LayOut(*here.debug, *places, inlined, std::min(call.sp, *sp));
  call.why_not = "it is inlined, and its arguments are too large";
  if (!layout) return call;
  call.layout = *layout;
  call.why_not.clear();
  return call;
}

DwarfCall CallOfInlined(std::span<ValueReader* const> readers, const LiveFunction& inlined, const InlinedCall& how,
                        OtherArguments* others, std::vector<Parameter>& parameters) {
  DwarfCall call;
  call.complete = true;
  const TargetAddress base = how.layout.entry_sp + 8;
  if (others) others->UseSpare(base + how.layout.spare, how.layout.spare_size);
  if (how.places.result_in_memory) {
    const PlacedParameter result{false, {{0, 8, abi::Location::kRdi, 0}}};
    AppendPieces(result, 0, *FirstBytes((base + how.layout.result).value, 8), call.words);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    Parameter& parameter = parameters[i];
    const PlacedParameter& placed = how.places.parameters[i];
    const auto passed = ValueOf(readers, inlined.parameters[i], placed, base + how.layout.objects[i], others, i);
    if (!passed) {
      call.complete = false;
      if (call.why_not.empty())
        call.why_not = "it is inlined, and its argument " + ParameterName(parameter) + " is not known";
      continue;
    }
    if (placed.pieces.empty()) continue;
    parameter.bytes = passed->bytes;
    parameter.indirect = placed.indirect;
    parameter.complete = true;
    parameter.source = passed->source;
    const size_t before = call.words.size();
    AppendPieces(placed, parameter.number, passed->bytes, call.words);
    for (size_t at = before; at < call.words.size(); ++at) call.words[at].source = passed->source;
    AppendWords(OnStack(how.layout.objects[i]), passed->object, call.words);
  }
  for (const auto& [address, bytes] : others ? others->Objects() : std::vector<std::pair<TargetAddress, Bytes>>())
    AppendWords(OnStack(address - base), bytes, call.words);
  return call;
}

}  // namespace recrash
