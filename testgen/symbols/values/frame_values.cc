#include "testgen/symbols/values/frame_values.h"

#include <dwarf.h>

#include "agent/report/recorded_states.h"
#include "testgen/symbols/stack/argument_places.h"
#include "testgen/symbols/stack/call_site.h"
#include "testgen/symbols/values/virtual_receiver.h"

namespace recrash {
namespace {

constexpr int kMaxEntryDepth = 8;
constexpr uint64_t kMaxValue = 1 << 20;  // of a parameter by value

}  // namespace

const LiveFunction& ValueReader::function() const {
  static const LiveFunction kNone;
  return code_.live.empty() ? kNone : code_.live.back();
}

std::optional<TargetAddress> ValueReader::RecordAddress(const RecordEntry& entry) {
  // At a call, rsp may be lower than at the label, because arguments are pushed. The record's distance to the CFA does
  // not change, and both are known at the label.
  if (!entry.operand) return std::nullopt;
  const Operand& operand = *entry.operand;
  if (const auto rule = unwinder_.CfaAt({entry.label + code_.module->bias()});
      rule && frame_.cfa.value != 0 && rule->base == operand.base)
    return frame_.cfa - rule->offset + operand.offset;
  const auto base = frame_.registers.Get(static_cast<uint64_t>(operand.base));
  return base ? std::optional(TargetAddress{*base + operand.offset}) : std::nullopt;
}

// Code at a lower address than the label may still run after the stores. It runs before them if the frame is not set up
// as it is at the label.
bool ValueReader::IsBeforeStores(const RecordEntry& entry) {
  const TargetAddress pc = frame_.lookup_pc();
  const TargetAddress label = {entry.label + code_.module->bias()};
  if (pc == code_.entry) return true;
  if (pc >= label) return false;
  const auto here = unwinder_.CfaAt(pc);
  const auto there = unwinder_.CfaAt(label);
  return !here || !there || here->base != there->base || here->offset != there->offset;
}

std::optional<Bytes> ValueReader::Followed(const abi::MapWord& word, Callers callers) {
  if ((word.flags & abi::kFollowed) == 0) return std::nullopt;
  for (const ParameterInfo& info : function().parameters) {
    if (info.described.number != word.parameter || !info.has_die) continue;
    auto bytes = AtPc(info.die, info.described.type.size, callers);
    if (!bytes || word.source_offset >= bytes->size()) return std::nullopt;
    // The register holds a bool or a short in as many bytes as the word has.
    bytes->erase(bytes->begin(), bytes->begin() + word.source_offset);
    bytes->resize(word.size);
    return bytes;
  }
  return std::nullopt;
}

std::optional<Bytes> ValueReader::AtFirstInstructions(abi::Location location, uint64_t stack_offset, uint64_t size) {
  ExpressionContext context;
  context.memory = &memory_;
  context.registers = &frame_.registers;
  if (index_ == 0) context.fxsave = stack_.fxsave;
  Piece piece;
  piece.kind = Piece::Kind::kRegister;
  if (location == abi::Location::kStack && frame_.cfa.value != 0) {
    piece.kind = Piece::Kind::kMemory;
    piece.number = (frame_.cfa + stack_offset).value;
  } else if (const auto number = DwarfNumber(location)) {
    piece.number = *number;
  } else {
    return std::nullopt;
  }
  return ReadLocation({{piece}, false}, size, context);
}

std::optional<Bytes> ValueReader::AtRecordedEntry(abi::Location location, uint64_t size) {
  if (frame_.cfa.value == 0) return std::nullopt;
  const EntryState* state = FindState(stack_.states, code_.entry, frame_.cfa - 8);
  if (state == nullptr) return std::nullopt;
  const EntryRegisters& registers = state->registers;
  const auto integer = static_cast<size_t>(location);
  if (integer < std::size(registers.integer)) return FirstBytes(registers.integer[integer], size);
  const size_t vector = integer - static_cast<size_t>(abi::Location::kXmm0);
  return vector < std::size(registers.vector) ? FirstBytes(registers.vector[vector], size) : std::nullopt;
}

std::optional<Bytes> ValueReader::PieceAtEntry(const PlacedPiece& piece, Callers callers) {
  if (auto recorded = AtRecordedEntry(piece.location, piece.size)) return recorded;
  const bool just_entered = frame_.exact && frame_.pc == code_.entry;
  if (just_entered || piece.location == abi::Location::kStack)
    return AtFirstInstructions(piece.location, piece.stack_offset, piece.size);
  const auto number = DwarfNumber(piece.location);
  if (!number) return std::nullopt;
  Dwarf_Op place{};
  place.atom = DW_OP_reg0 + *number;
  const auto value = FromCaller(place, callers, 0);
  return value ? FirstBytes(*value, piece.size) : std::nullopt;
}

std::optional<Bytes> ValueReader::VirtualReceiver() {
  return code_.module == nullptr ? std::nullopt : FindVirtualReceiver(stack_, index_, code_, memory_);
}

std::optional<Bytes> ValueReader::Stored(const abi::MapWord& word, std::optional<TargetAddress> record) {
  if (!record || word.record_offset == abi::kNotStored) return std::nullopt;
  Bytes bytes(word.size);
  if (!memory_.Read(*record + word.record_offset, bytes)) return std::nullopt;
  return bytes;
}

// The entry state is certain. Without one, a followed argument is alive, or it is dead and stored. A caller
// is asked before the record only if its call leads here for certain: an indirect call may have come here by a tail
// call with other arguments.
std::optional<RecordedWord> ValueReader::ReadWord(const abi::MapWord& word, std::optional<TargetAddress> record,
                                                  bool before_stores) {
  const auto location = static_cast<abi::Location>(word.location);
  const bool is_followed = (word.flags & abi::kFollowed) != 0;
  std::optional<Bytes> known;
  if (IsArgument(word)) known = AtRecordedEntry(location, word.size);
  if (!known) known = Followed(word, Callers::kSure);
  if (!known && (is_followed || !before_stores)) known = Stored(word, record);
  if (!known) known = Followed(word, Callers::kAny);
  if (known) return RecordedWord{word, std::move(*known), ValueSource::kRecord};
  if (!before_stores || !IsArgument(word) || !frame_.exact) return std::nullopt;
  auto bytes = AtFirstInstructions(location, word.stack_offset, word.size);
  if (!bytes) return std::nullopt;
  return RecordedWord{word, std::move(*bytes), ValueSource::kRegister};
}

// Copies of fields that are not made at the entry stand beside the pointer that they were read through. If the record
// has another pointer there than debug information says, the stores have not run.
bool ValueReader::CopiesWereMade(const RecordEntry& entry, std::optional<TargetAddress> record) {
  const abi::MapWord* pointer = nullptr;
  for (const abi::MapWord& word : entry.words) {
    if (IsArgument(word)) {
      pointer = &word;
      continue;
    }
    if (pointer == nullptr || pointer->record_offset == abi::kNotStored) continue;
    const auto followed = Followed(*pointer, Callers::kSure);
    if (followed && followed != Stored(*pointer, record)) return false;
  }
  return record.has_value();
}

Recorded ValueReader::ReadRecord() {
  Recorded result;
  if (code_.module == nullptr || !code_.range) return result;
  const uint64_t bias = code_.module->bias();
  // A split-off cold part is reached from the part with the entry, and that part made the record.
  const uint64_t start = code_.entry.value - bias;
  const RecordEntry* entry = code_.map->Find(start, frame_.lookup_pc().value - bias, code_.hashes);
  if (entry == nullptr) entry = code_.map->FindIn(start, code_.range->size, code_.hashes);
  result.monitored = entry != nullptr;
  if (entry == nullptr) return result;
  const bool before_stores = IsBeforeStores(*entry);
  const auto address = before_stores && frame_.exact ? std::nullopt : RecordAddress(*entry);
  result.complete = true;
  const bool copied = !before_stores && CopiesWereMade(*entry, address);
  for (const abi::MapWord& word : entry->words) {
    if (!IsArgument(word) && !copied) continue;
    if (auto read = ReadWord(word, address, before_stores)) {
      result.words.push_back(std::move(*read));
    } else if (IsArgument(word)) {
      result.complete = false;
      result.why_not = before_stores && !frame_.exact ? "it called before its arguments were kept"
                       : word.record_offset != abi::kNotStored
                           ? "the part of the stack that holds its arguments was not kept"
                       : code_.scopes ? "debug information has lost an argument that is in no record"
                                      : "an argument is in debug information alone, and there is none";
    }
  }
  return result;
}

std::optional<TargetAddress> ValueReader::FrameBase(const ExpressionContext& context) {
  Dwarf_Attribute attribute;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  Dwarf_Die function = code_.scopes->function;
  if (dwarf_attr_integrate(&function, DW_AT_frame_base, &attribute) == nullptr ||
      dwarf_getlocation_addr(&attribute, frame_.lookup_pc().value - context.bias, &ops, &count, 1) != 1)
    return std::nullopt;
  ExpressionContext inner = context;
  inner.attribute = &attribute;
  const auto location = EvaluateLocation(ops, count, inner);
  if (!location || location->pieces.size() != 1) return std::nullopt;
  const Piece& piece = location->pieces[0];
  // Here DW_OP_reg6 means the value of the register. DW_OP_call_frame_cfa leaves an address.
  if (piece.kind == Piece::Kind::kMemory) return TargetAddress{piece.number};
  const auto value = piece.kind == Piece::Kind::kRegister ? context.registers->Get(piece.number) : std::nullopt;
  return value ? std::optional(TargetAddress{*value}) : std::nullopt;
}

// REQUIRES: the frame's pc is in a module.
ExpressionContext ValueReader::Context(Callers callers, int depth) {
  ExpressionContext context;
  context.memory = &memory_;
  context.registers = &frame_.registers;
  if (index_ == 0) context.fxsave = stack_.fxsave;
  context.bias = code_.module->bias();
  if (frame_.cfa.value != 0) context.cfa = frame_.cfa;
  context.entry_value = [this, callers, depth](const Dwarf_Op* ops, size_t count) {
    return count == 1 ? FromCaller(*ops, callers, depth + 1) : std::nullopt;
  };
  if (code_.scopes) context.frame_base = FrameBase(context);
  return context;
}

std::optional<Location> ValueReader::LocationAt(Dwarf_Die variable, uint64_t address, Callers callers, bool from_here) {
  if (code_.module == nullptr || !code_.scopes) return std::nullopt;
  Dwarf_Attribute attribute;
  if (dwarf_attr(&variable, DW_AT_location, &attribute) == nullptr) return std::nullopt;
  ExpressionContext context = Context(callers, 0);
  context.attribute = &attribute;
  Dwarf_Addr base = 0, start = 0, end = 0;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  for (ptrdiff_t at = 0; (at = dwarf_getlocations(&attribute, at, &base, &start, &end, &ops, &count)) > 0;)
    if (from_here ? address == start : address >= start && address < end) return EvaluateLocation(ops, count, context);
  return std::nullopt;
}

// The code after a call that does not return belongs to another path, so locations there say nothing about this path.
bool ValueReader::CallReturns() {
  if (frame_.exact || frame_.is_signal_frame || index_ == 0 || !code_.range) return false;
  const uint64_t pc = frame_.pc.value - code_.module->bias();
  if (pc >= code_.range->start + code_.range->size) return false;
  const CodeInfo& callee = code_reader_.At(stack_.frames[index_ - 1].lookup_pc());
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

std::optional<Bytes> ValueReader::AtPc(Dwarf_Die variable, uint64_t size, Callers callers) {
  Dwarf_Attribute attribute;
  if (code_.module == nullptr || size == 0 || size > kMaxValue) return std::nullopt;
  if (dwarf_attr(&variable, DW_AT_const_value, &attribute) != nullptr) return ConstantBytes(attribute, size);
  const ExpressionContext context = Context(callers, 0);
  if (const auto location = LocationAt(variable, frame_.lookup_pc().value - context.bias, callers))
    if (auto bytes = ReadLocation(*location, size, context)) return bytes;
  // Up to the call the argument may lie in a register that the call changes. From the return on, the compiler has it in
  // a register that calls preserve, and the unwinder knows those.
  if (!CallReturns()) return std::nullopt;
  const auto location = LocationAt(variable, frame_.pc.value - context.bias, callers, true);
  return location ? ReadLocation(*location, size, context) : std::nullopt;
}

std::optional<Bytes> ValueReader::AddressAtPc(Dwarf_Die variable) {
  if (code_.module == nullptr) return std::nullopt;
  const auto location = LocationAt(variable, frame_.lookup_pc().value - code_.module->bias(), Callers::kAny);
  if (!location || location->pieces.size() != 1 || location->pieces[0].kind != Piece::Kind::kMemory)
    return std::nullopt;
  return FirstBytes(location->pieces[0].number, 8);
}

std::optional<uint8_t> ValueReader::RegisterAtPc(Dwarf_Die variable) {
  if (code_.module == nullptr) return std::nullopt;
  const auto location = LocationAt(variable, frame_.lookup_pc().value - code_.module->bias(), Callers::kAny);
  if (!location || location->pieces.size() != 1 || location->pieces[0].kind != Piece::Kind::kRegister)
    return std::nullopt;
  return static_cast<uint8_t>(location->pieces[0].number);
}

std::optional<uint64_t> ValueReader::FromCaller(const Dwarf_Op& place, Callers callers, int depth) {
  if (depth > kMaxEntryDepth || index_ + 1 >= stack_.frames.size()) return std::nullopt;
  ValueReader caller(code_reader_, unwinder_, memory_, stack_, index_ + 1);
  if (caller.frame_.exact || caller.frame_.is_signal_frame) return std::nullopt;  // nobody called this frame
  if (caller.code_.module == nullptr || !caller.code_.scopes) return std::nullopt;
  std::optional<Dwarf_Die> site = code_reader_.CallSiteAt(caller.frame_.pc);
  if (!site) return std::nullopt;
  ExpressionContext context = caller.Context(callers, depth);
  // After a tail call in between, the return address stays, but the arguments are those of another function.
  const Leads leads = LeadsTo(*site, code_, context);
  if (leads == Leads::kElsewhere || (leads == Leads::kPerhaps && callers == Callers::kSure)) return std::nullopt;
  auto value = CallSiteValue(*site, place);
  if (!value) return std::nullopt;
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_getlocation(&*value, &ops, &count) != 0) return std::nullopt;
  context.attribute = &*value;
  return EvaluateNumber(ops, count, context);
}

}  // namespace recrash
