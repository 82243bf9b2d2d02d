#include "testgen/symbols/values/frame_values.h"

#include <dwarf.h>

#include "agent/report/recorded_states.h"
#include "testgen/symbols/stack/call_site.h"

namespace recrash {
namespace {

constexpr int kMaxEntryDepth = 8;
constexpr uint64_t kMaxValue = 1 << 20;  // of a parameter by value

// abi::Location::kRdi … kR10 as DWARF numbers.
constexpr uint8_t kDwarfNumber[] = {5, 4, 1, 2, 8, 9, 10};

}  // namespace

std::optional<uint64_t> ValueReader::RecordAddress(const UnwoundFrame& frame, const RecordEntry& entry, uint64_t bias) {
  // rsp may stand lower at a call than at the label: arguments are pushed for it. The distance to the CFA does not
  // change, and both are known at the label.
  if (!entry.operand) return std::nullopt;
  const Operand& operand = *entry.operand;
  if (const auto rule = unwinder_.CfaAt(entry.label + bias); rule && frame.cfa != 0 && rule->base == operand.base)
    return frame.cfa - rule->offset + operand.offset;
  const auto base = frame.registers.Get(static_cast<uint64_t>(operand.base));
  return base ? std::optional(*base + operand.offset) : std::nullopt;
}

// Code before the label by its address may still run after the stores. Where the frame is not set up as it is there,
// it does not.
bool ValueReader::IsBeforeStores(const UnwoundFrame& frame, uint64_t function, const RecordEntry& entry,
                                 uint64_t bias) {
  const uint64_t pc = frame.lookup_pc();
  if (pc == function) return true;
  if (pc >= entry.label + bias) return false;
  const auto here = unwinder_.CfaAt(pc);
  const auto there = unwinder_.CfaAt(entry.label + bias);
  return !here || !there || here->base != there->base || here->offset != there->offset;
}

std::optional<std::vector<uint8_t>> ValueReader::Followed(size_t index, const CodeInfo& code, const LiveFunction& live,
                                                          const abi::MapWord& word, Callers callers) {
  if ((word.flags & abi::kFollowed) == 0) return std::nullopt;
  for (const ParameterInfo& info : live.parameters) {
    if (info.described.number != word.parameter || !info.has_die) continue;
    auto bytes = AtPc(index, code, info.die, info.described.type.size, callers);
    if (!bytes || word.source_offset >= bytes->size()) return std::nullopt;
    // In its register a bool or a short is as wide as here.
    bytes->erase(bytes->begin(), bytes->begin() + word.source_offset);
    bytes->resize(word.size);
    return bytes;
  }
  return std::nullopt;
}

std::optional<std::vector<uint8_t>> ValueReader::AtFirstInstructions(size_t index, abi::Location location,
                                                                     uint64_t stack_offset, uint64_t size) {
  const UnwoundFrame& frame = stack_.frames[index];
  std::vector<uint8_t> bytes(size);
  if (location == abi::Location::kStack) {
    if (frame.cfa == 0 || !memory_.Read(frame.cfa + stack_offset, bytes)) return std::nullopt;
    return bytes;
  }
  const auto number = static_cast<size_t>(location);
  if (number < std::size(kDwarfNumber)) {
    const auto value = frame.registers.Get(kDwarfNumber[number]);
    if (!value || size > sizeof(*value)) return std::nullopt;
    std::memcpy(bytes.data(), &*value, size);
    return bytes;
  }
  const size_t xmm = number - static_cast<size_t>(abi::Location::kXmm0);
  const size_t offset = 160 + xmm * 16;  // in the FXSAVE image
  if (xmm >= 8 || index != 0 || size > 16 || stack_.fxsave.size() < offset + 16) return std::nullopt;
  std::memcpy(bytes.data(), stack_.fxsave.data() + offset, size);
  return bytes;
}

std::optional<std::vector<uint8_t>> ValueReader::AtRecordedEntry(size_t index, const CodeInfo& code,
                                                                 abi::Location location, uint64_t size) {
  const UnwoundFrame& frame = stack_.frames[index];
  if (stack_.report == nullptr || frame.cfa == 0) return std::nullopt;
  const EntrySnapshot* snapshot = FindSnapshot(*stack_.report, {code.entry}, {frame.cfa - 8});
  if (snapshot == nullptr) return std::nullopt;
  const auto bytes = [size](const auto& value) -> std::optional<std::vector<uint8_t>> {
    if (size > sizeof value) return std::nullopt;
    const auto* first = reinterpret_cast<const uint8_t*>(&value);
    return std::vector<uint8_t>(first, first + size);
  };
  const auto integer = static_cast<size_t>(location);
  if (integer < snapshot->integers.size()) return bytes(snapshot->integers[integer]);
  const size_t vector = integer - static_cast<size_t>(abi::Location::kXmm0);
  return vector < snapshot->vectors.size() ? bytes(snapshot->vectors[vector]) : std::nullopt;
}

std::optional<std::vector<uint8_t>> ValueReader::PieceAtEntry(size_t index, const CodeInfo& code,
                                                              const PlacedPiece& piece, Callers callers) {
  if (auto recorded = AtRecordedEntry(index, code, piece.location, piece.size)) return recorded;
  const UnwoundFrame& frame = stack_.frames[index];
  const bool just_entered = frame.exact && frame.pc == code.entry;
  if (just_entered || piece.location == abi::Location::kStack)
    return AtFirstInstructions(index, piece.location, piece.stack_offset, piece.size);
  Dwarf_Op place{};
  const auto number = static_cast<uint8_t>(piece.location);
  constexpr uint8_t kFirstXmm = 17;  // DWARF's number
  if (number < std::size(kDwarfNumber))
    place.atom = DW_OP_reg0 + kDwarfNumber[number];
  else
    place.atom = DW_OP_reg0 + kFirstXmm + (number - static_cast<uint8_t>(abi::Location::kXmm0));
  const auto value = AtEntry(index, &place, 1, callers, 0);
  if (!value || piece.size > sizeof(*value)) return std::nullopt;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&*value);
  return std::vector<uint8_t>(bytes, bytes + piece.size);
}

std::optional<std::vector<uint8_t>> ValueReader::Stored(const abi::MapWord& word, std::optional<uint64_t> record) {
  if (!record || word.record_offset == abi::kNotStored) return std::nullopt;
  std::vector<uint8_t> bytes(word.size);
  if (!memory_.Read(*record + word.record_offset, bytes)) return std::nullopt;
  return bytes;
}

// What the recorder saw at the entry is certain. Else what is followed is alive, or dead and stored. A caller's word
// comes before that only where it is sure: an indirect call may have come here by a tail call, which had other
// arguments.
std::optional<RecordedWord> ValueReader::ReadWord(size_t index, const CodeInfo& code, const LiveFunction& live,
                                                  const abi::MapWord& word, std::optional<uint64_t> record,
                                                  bool before_stores) {
  const bool is_field = word.kind != static_cast<uint8_t>(abi::WordKind::kArgument);
  const bool is_followed = (word.flags & abi::kFollowed) != 0;
  std::optional<std::vector<uint8_t>> known;
  if (!is_field) known = AtRecordedEntry(index, code, static_cast<abi::Location>(word.location), word.size);
  if (!known) known = Followed(index, code, live, word, Callers::kSure);
  if (!known && (is_followed || !before_stores)) known = Stored(word, record);
  if (!known) known = Followed(index, code, live, word, Callers::kAny);
  if (known) return RecordedWord{word, std::move(*known), ValueSource::kRecord};
  if (!before_stores || is_field || !stack_.frames[index].exact) return std::nullopt;
  auto bytes = AtFirstInstructions(index, static_cast<abi::Location>(word.location), word.stack_offset, word.size);
  if (!bytes) return std::nullopt;
  return RecordedWord{word, std::move(*bytes), ValueSource::kRegister};
}

// Copies of fields that are not made at the entry stand beside the pointer that they were read through. Where the
// stores have not run, the record has something else in its place than debug information says.
bool ValueReader::CopiesWereMade(size_t index, const CodeInfo& code, const LiveFunction& live, const RecordEntry& entry,
                                 std::optional<uint64_t> record) {
  const abi::MapWord* pointer = nullptr;
  for (const abi::MapWord& word : entry.words) {
    if (word.kind == static_cast<uint8_t>(abi::WordKind::kArgument)) {
      pointer = &word;
      continue;
    }
    if (pointer == nullptr || (pointer->flags & abi::kFollowed) == 0 || pointer->record_offset == abi::kNotStored)
      continue;
    const auto followed = Followed(index, code, live, *pointer, Callers::kSure);
    if (followed && followed != Stored(*pointer, record)) return false;
  }
  return record.has_value();
}

Recorded ValueReader::ReadRecord(size_t index, const CodeInfo& code, const LiveFunction& live) {
  Recorded result;
  if (code.module == nullptr || !code.range) return result;
  const UnwoundFrame& frame = stack_.frames[index];
  const RecordMap& map = code.module->map;
  const uint64_t bias = code.module->bias();
  // A split-off cold part is reached from the part with the entry, where the record was made.
  const uint64_t start = code.entry - bias;
  const RecordEntry* entry = map.Find(start, frame.lookup_pc() - bias, code.hashes);
  if (entry == nullptr) entry = map.FindIn(start, code.range->size, code.hashes);
  result.monitored = entry != nullptr;
  if (entry == nullptr) return result;
  const bool before_stores = IsBeforeStores(frame, code.entry, *entry, bias);
  const auto address = before_stores && frame.exact ? std::nullopt : RecordAddress(frame, *entry, bias);
  result.complete = true;
  const bool copied = !before_stores && CopiesWereMade(index, code, live, *entry, address);
  for (const abi::MapWord& word : entry->words) {
    const bool is_field = word.kind != static_cast<uint8_t>(abi::WordKind::kArgument);
    if (is_field && !copied) continue;
    if (auto read = ReadWord(index, code, live, word, address, before_stores)) {
      result.words.push_back(std::move(*read));
    } else if (!is_field) {
      result.complete = false;
      result.why_not = before_stores && !frame.exact ? "it called before its arguments were kept"
                       : word.record_offset != abi::kNotStored
                           ? "the part of the stack that holds its arguments was not kept"
                       : code.scopes ? "debug information has lost an argument that is in no record"
                                     : "an argument is in debug information alone, and there is none";
    }
  }
  return result;
}

std::optional<uint64_t> ValueReader::FrameBase(const CodeInfo& code, uint64_t address,
                                               const ExpressionContext& context) {
  Dwarf_Attribute attribute;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  Dwarf_Die function = code.scopes->function;
  if (dwarf_attr_integrate(&function, DW_AT_frame_base, &attribute) == nullptr ||
      dwarf_getlocation_addr(&attribute, address, &ops, &count, 1) != 1)
    return std::nullopt;
  ExpressionContext inner = context;
  inner.attribute = &attribute;
  const auto location = EvaluateLocation(ops, count, inner);
  if (!location || location->pieces.size() != 1) return std::nullopt;
  const Piece& piece = location->pieces[0];
  // DW_OP_reg6 means the register's value here; DW_OP_call_frame_cfa leaves an address.
  if (piece.kind == Piece::Kind::kRegister) return context.registers->Get(piece.number);
  if (piece.kind == Piece::Kind::kMemory) return piece.number;
  return std::nullopt;
}

ExpressionContext ValueReader::Context(size_t index, const CodeInfo& code, Callers callers, int depth) {
  const UnwoundFrame& frame = stack_.frames[index];
  ExpressionContext context;
  context.memory = &memory_;
  context.registers = &frame.registers;
  if (index == 0) context.fxsave = stack_.fxsave;
  context.bias = code.module->bias();
  if (frame.cfa != 0) context.cfa = frame.cfa;
  context.entry_value = [this, index, callers, depth](const Dwarf_Op* ops, size_t count) {
    return AtEntry(index, ops, count, callers, depth + 1);
  };
  if (code.scopes) context.frame_base = FrameBase(code, frame.lookup_pc() - context.bias, context);
  return context;
}

std::optional<Location> ValueReader::LocationAt(size_t index, const CodeInfo& code, Dwarf_Die variable,
                                                uint64_t address, Callers callers, bool from_here) {
  if (code.module == nullptr || !code.scopes) return std::nullopt;
  Dwarf_Attribute attribute;
  if (dwarf_attr(&variable, DW_AT_location, &attribute) == nullptr) return std::nullopt;
  ExpressionContext context = Context(index, code, callers, 0);
  context.attribute = &attribute;
  Dwarf_Addr base = 0, start = 0, end = 0;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  for (ptrdiff_t at = 0; (at = dwarf_getlocations(&attribute, at, &base, &start, &end, &ops, &count)) > 0;)
    if (from_here ? address == start : address >= start && address < end) return EvaluateLocation(ops, count, context);
  return std::nullopt;
}

// Code after a call that does not return belongs to another path: locations there say nothing of this one.
bool ValueReader::CallReturns(size_t index, const CodeInfo& code) {
  const UnwoundFrame& frame = stack_.frames[index];
  if (frame.exact || frame.is_signal_frame || index == 0 || !code.range) return false;
  const uint64_t pc = frame.pc - code.module->bias();
  if (pc >= code.range->start + code.range->size) return false;
  const CodeInfo& callee = code_.At(stack_.frames[index - 1].lookup_pc());
  if (callee.live.empty()) return false;
  const LiveFunction& function = callee.live.back();
  for (const char* name : {"__cxa_throw", "__cxa_rethrow", "_Unwind_Resume", "abort", "exit", "__assert_fail",
                           "__stack_chk_fail", "_ZSt9terminatev"})
    if (function.linkage_name == name) return false;
  if (function.linkage_name.starts_with("_ZSt") && function.linkage_name.find("__throw_") != std::string::npos)
    return false;
  Dwarf_Die die = function.die;
  return !callee.scopes || !AttributeFlag(die, DW_AT_noreturn);
}

std::optional<std::vector<uint8_t>> ValueReader::AtPc(size_t index, const CodeInfo& code, Dwarf_Die variable,
                                                      uint64_t size, Callers callers) {
  Dwarf_Attribute attribute;
  if (code.module == nullptr || size == 0 || size > kMaxValue) return std::nullopt;
  if (dwarf_attr(&variable, DW_AT_const_value, &attribute) != nullptr) return ConstantBytes(attribute, size);
  const UnwoundFrame& frame = stack_.frames[index];
  const ExpressionContext context = Context(index, code, callers, 0);
  if (const auto location = LocationAt(index, code, variable, frame.lookup_pc() - context.bias, callers))
    if (auto bytes = ReadLocation(*location, size, context)) return bytes;
  // Up to the call the argument was in a register that the call may change; from its return on the compiler knows it
  // in one that calls preserve, and that is what the unwinder has.
  if (!CallReturns(index, code)) return std::nullopt;
  const auto location = LocationAt(index, code, variable, frame.pc - context.bias, callers, true);
  return location ? ReadLocation(*location, size, context) : std::nullopt;
}

std::optional<std::vector<uint8_t>> ValueReader::AddressAtPc(size_t index, const CodeInfo& code, Dwarf_Die variable) {
  if (code.module == nullptr) return std::nullopt;
  const uint64_t address = stack_.frames[index].lookup_pc() - code.module->bias();
  const auto location = LocationAt(index, code, variable, address, Callers::kAny);
  if (!location || location->pieces.size() != 1 || location->pieces[0].kind != Piece::Kind::kMemory)
    return std::nullopt;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&location->pieces[0].number);
  return std::vector<uint8_t>(bytes, bytes + 8);
}

std::optional<uint64_t> ValueReader::AtEntry(size_t index, const Dwarf_Op* ops, size_t count, Callers callers,
                                             int depth) {
  if (depth > kMaxEntryDepth || index + 1 >= stack_.frames.size() || count != 1) return std::nullopt;
  const UnwoundFrame& caller = stack_.frames[index + 1];
  if (caller.exact || caller.is_signal_frame) return std::nullopt;  // nobody called this frame
  const CodeInfo& code = code_.At(caller.lookup_pc());
  if (code.module == nullptr || !code.scopes) return std::nullopt;
  std::optional<Dwarf_Die> site = code_.CallSiteAt(caller.pc);
  if (!site) return std::nullopt;
  ExpressionContext context = Context(index + 1, code, callers, depth);
  const CodeInfo& callee = code_.At(stack_.frames[index].lookup_pc());
  // A tail call in between leaves this return address with another function's arguments.
  const Leads leads = LeadsTo(*site, callee, context);
  if (leads == Leads::kElsewhere || (leads == Leads::kPerhaps && callers == Callers::kSure)) return std::nullopt;
  auto value = CallSiteValue(*site, ops[0]);
  if (!value) return std::nullopt;
  Dwarf_Op* value_ops = nullptr;
  size_t value_count = 0;
  if (dwarf_getlocation(&*value, &value_ops, &value_count) != 0) return std::nullopt;
  context.attribute = &*value;
  return EvaluateNumber(value_ops, value_count, context);
}

}  // namespace recrash
