#include "testgen/symbols/values/address_kind.h"

#include <algorithm>
#include <csignal>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "testgen/symbols/dwarf/names.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kRedZone = 128;  // below the stack pointer, which a function may use
constexpr size_t kLeastText = 5;

std::string Bytes(uint64_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

bool IsCanonical(uint64_t address) {
  const uint64_t top = address >> 47;
  return top == 0 || top == 0x1ffff;
}

std::string Plus(uint64_t offset) { return offset == 0 ? "" : "+" + HexNumber(offset); }

}  // namespace

std::optional<std::string> TextInAddress(uint64_t value) {
  std::string text(reinterpret_cast<const char*>(&value), sizeof value);
  const size_t length = std::min(text.find('\0'), text.size());
  if (length < kLeastText || text.find_first_not_of('\0', length) != std::string::npos) return std::nullopt;
  text.resize(length);
  if (!std::ranges::all_of(text, [](char c) { return c >= 0x20 && c <= 0x7e; })) return std::nullopt;
  return "\"" + EscapeText(text) + "\"";
}

std::optional<AddressKind> AddressReader::InModule(TargetAddress address) {
  const Module* module = FindModule(report_.modules, address);
  if (module == nullptr) return std::nullopt;
  const Mapping* mapping = report_.FindMapping(address);
  const bool is_code = mapping != nullptr && (mapping->flags & kMapExecute) != 0;
  const std::string in = " in " + BaseName(module->path);
  LoadedModule* loaded = modules_.Find(address);
  const uint64_t in_file = address.value - module->bias;
  if (loaded != nullptr && is_code) {
    const auto range = loaded->names->FunctionAt(in_file);
    if (range && !range->names.empty())
      return AddressKind{AddressKind::kCode,
                         "code of " + ReadableName(std::string(range->names.front())) + Plus(in_file - range->start)};
  }
  if (is_code) return AddressKind{AddressKind::kCode, "code" + in};
  const ElfSymbol* symbol = loaded == nullptr ? nullptr : loaded->names->ObjectAt(in_file);
  if (symbol == nullptr) return AddressKind{AddressKind::kData, "data" + in};
  const std::string name = ReadableName(std::string(symbol->name));
  constexpr std::string_view kVtableFor = "vtable for ";
  if (name.starts_with(kVtableFor))
    return AddressKind{AddressKind::kVtable, "a vtable of " + name.substr(kVtableFor.size())};
  return AddressKind{AddressKind::kData, name + Plus(in_file - symbol->address)};
}

std::optional<AddressKind> AddressReader::OnStack(TargetAddress address) const {
  const Mapping* mapping = report_.FindMapping(address);
  if (mapping == nullptr) return std::nullopt;
  for (const Thread& thread : report_.threads) {
    uint64_t sp = thread.registers.sp();
    if (sp < mapping->start.value || sp >= mapping->end.value) continue;
    // If `noexcept` ended the program, the frames that are shown are those at the throw.
    if (thread.failing && report_.thrown) sp = std::min(sp, report_.thrown->registers.sp());
    if (thread.failing && live_from_ >= mapping->start) sp = std::min(sp, live_from_.value);
    const std::string whose = thread.failing ? "the" : "a";
    const std::string of = thread.failing ? "" : " of thread " + std::to_string(thread.id);
    if (address.value + kRedZone >= sp) return AddressKind{AddressKind::kLiveStack, "on " + whose + " stack" + of};
    return AddressKind{AddressKind::kDeadStack, "below the live stack" + of + ": a dead local"};
  }
  return std::nullopt;
}

std::optional<AddressKind> AddressReader::OnHeap(TargetAddress address) {
  const auto block = heap_.BlockAt(address);
  if (!block) return std::nullopt;
  const std::string size = " heap block of " + Bytes(block->size);
  if (block->past_end != 0)
    return AddressKind{AddressKind::kPastBlock, "behind the end of a" + size + " at " + HexNumber(block->start.value)};
  switch (block->state) {
    case BlockState::kFreed:
      return AddressKind{AddressKind::kFreedBlock, "in a freed" + size};
    case BlockState::kUnused:
      return AddressKind{AddressKind::kUnusedHeap, "in the unused rest of the heap"};
    case BlockState::kLive:
      return AddressKind{AddressKind::kLiveBlock, "in a live" + size};
    case BlockState::kUnknown:
      break;
  }
  return AddressKind{AddressKind::kBlock, "in a" + size};
}

AddressKind AddressReader::KindOf(TargetAddress address) {
  if (address.value < kPage) return {AddressKind::kNearNull, "near null"};
  const Mapping* mapping = report_.FindMapping(address);
  if (mapping == nullptr) {
    const auto kind = IsCanonical(address.value) ? AddressKind::kNotMapped : AddressKind::kNotCanonical;
    if (const auto text = TextInAddress(address.value)) return {kind, "the text " + *text};
    return {kind, kind == AddressKind::kNotMapped ? "not mapped" : "no address of this processor"};
  }
  if (auto kind = InModule(address)) return *std::move(kind);
  if (auto kind = OnStack(address)) return *std::move(kind);
  if (auto kind = OnHeap(address)) return *std::move(kind);
  return {};
}

}  // namespace recrash
