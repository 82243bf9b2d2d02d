#include "testgen/symbols/values/virtual_receiver.h"

#include <dwarf.h>

#include <map>
#include <set>

namespace recrash {
namespace {

constexpr uint64_t kWord = 8;
constexpr uint64_t kLargestFrame = 4096;

bool IsVirtual(const CodeInfo& code) {
  if (code.live.empty()) return false;
  Dwarf_Die die = code.live.back().die;
  return AttributeNumber(die, DW_AT_virtuality).value_or(DW_VIRTUALITY_none) != DW_VIRTUALITY_none;
}

using Relocations = std::map<uint64_t, ElfRelocation>;

// Is there an object at the address, whose vtable has the function? A report has no vtables: nobody writes to them once
// they are relocated.
bool IsReceiver(TargetAddress object, const CodeInfo& code, const Relocations& relocations,
                const ReportMemory& memory) {
  const auto vtable = memory.ReadWord(object);
  const uint64_t bias = code.module->bias();
  const ElfSymbol* symbol = vtable ? code.module->names->ObjectAt(*vtable - bias) : nullptr;
  if (!symbol || !symbol->name.starts_with("_ZTV")) return false;
  for (uint64_t at = *vtable - bias; at + kWord <= symbol->address + symbol->size; at += kWord) {
    const auto word = relocations.find(at);
    const bool is_here = word == relocations.end() ? memory.ReadWord({at + bias}) == code.entry.value
                         : word->second.symbol.empty()
                             ? static_cast<uint64_t>(word->second.addend) + bias == code.entry.value
                             : word->second.symbol == code.live.back().linkage_name;
    if (is_here) return true;
  }
  return false;
}

}  // namespace

std::optional<Bytes> FindVirtualReceiver(const Stack& stack, size_t index, const CodeInfo& code,
                                         const ReportMemory& memory) {
  if (index + 1 >= stack.frames.size() || !IsVirtual(code)) return std::nullopt;
  const TargetAddress low = stack.frames[index].cfa;
  const UnwoundFrame& caller = stack.frames[index + 1];
  if (caller.is_signal_frame || low.value == 0 || caller.cfa < low || caller.cfa - low > kLargestFrame)
    return std::nullopt;
  std::set<uint64_t> words;
  for (const uint64_t preserved : {3, 6, 12, 13, 14, 15})
    if (const auto word = caller.registers.Get(preserved)) words.insert(*word);
  for (TargetAddress at = low; at < caller.cfa; at = at + kWord)
    if (const auto word = memory.ReadWord(at)) words.insert(*word);
  const Relocations relocations = code.module->image->Relocations();
  std::optional<uint64_t> found;
  for (const uint64_t word : words) {
    if (!IsReceiver({word}, code, relocations, memory)) continue;
    if (found) return std::nullopt;
    found = word;
  }
  return found ? std::optional(*FirstBytes(*found, kWord)) : std::nullopt;
}

}  // namespace recrash
