#include "testgen/flips/live_objects.h"

#include <algorithm>

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHeader = 16;
constexpr uint64_t kMarks = 7, kFromMap = 2;  // low bits of the size in glibc's header of a block

}  // namespace

bool LiveObjects::IsUsable(uint64_t address) const {
  const Mapping* mapping = report_.FindMapping({address});
  return mapping != nullptr && (mapping->flags & (kMapRead | kMapWrite | kMapExecute)) != 0;
}

bool LiveObjects::IsCode(uint64_t address) const {
  const Mapping* mapping = report_.FindMapping({address});
  return mapping != nullptr && (mapping->flags & kMapExecute) != 0;
}

std::optional<LiveObject> LiveObjects::FunctionAt(uint64_t address) {
  const Module* module = report_.FindModule({address});
  if (module == nullptr || !IsCode(address)) return std::nullopt;
  LoadedModule* loaded = modules_.Find({address});
  const uint64_t in_file = address - module->bias;
  const auto range = loaded != nullptr && loaded->names != nullptr ? loaded->names->FunctionAt(in_file) : std::nullopt;
  if (!range || range->start != in_file) return std::nullopt;
  return LiveObject{address, address + range->size};
}

// Constants such as texts have no symbols: the whole mapping then.
std::optional<LiveObject> LiveObjects::InModule(const Module& module, const Mapping& mapping, uint64_t address) {
  if ((mapping.flags & kMapExecute) != 0) return std::nullopt;
  LoadedModule* loaded = modules_.Find({address});
  if (loaded == nullptr || loaded->names == nullptr) return std::nullopt;
  if (const ElfSymbol* symbol = loaded->names->ObjectAt(address - module.bias); symbol != nullptr) {
    const uint64_t start = symbol->address + module.bias;
    return LiveObject{start, start + std::max<uint64_t>(symbol->size, 1)};
  }
  return LiveObject{mapping.start.value, mapping.end.value, (mapping.flags & kMapWrite) == 0};
}

uint64_t LiveObjects::SpIn(const Mapping& stack) const {
  for (const Thread& thread : report_.threads)
    if (const TargetAddress sp{thread.registers.sp()}; sp >= stack.start && sp < stack.end) return sp.value;
  return stack.start.value;
}

// A large block has pages of its own, which begin with its header. Neighbours of that kind share a mapping.
std::optional<LiveObject> LiveObjects::MappedBlock(const Mapping& mapping, uint64_t address) const {
  for (uint64_t at = mapping.start.value; at <= address;) {
    const auto word = memory_.ReadWord({at + 8});
    const uint64_t size = word ? *word & ~kMarks : 0;
    if (size < kPage || size % kPage != 0 || (*word & kMarks) != kFromMap || size > mapping.end.value - at)
      return std::nullopt;
    if (address - at < size) return LiveObject{at + kHeader, at + size};
    at += size;
  }
  return std::nullopt;
}

std::optional<LiveObject> LiveObjects::At(uint64_t address) {
  const Mapping* mapping = report_.FindMapping({address});
  if (mapping == nullptr || (mapping->flags & kMapRead) == 0) return std::nullopt;
  if (const Module* module = report_.FindModule({address})) return InModule(*module, *mapping, address);
  const AddressKind kind = addresses_.KindOf({address});
  if (kind.kind == AddressKind::kLiveStack) return LiveObject{SpIn(*mapping), mapping->end.value};
  if (kind.is_bad()) return std::nullopt;
  if (const auto block = heap_.BlockAt({address}))
    return LiveObject{block->start.value, block->start.value + block->size};
  if (mapping->path == "[heap]") return std::nullopt;
  if (const auto block = MappedBlock(*mapping, address)) return block;
  return LiveObject{mapping->start.value, mapping->end.value, false};
}

}  // namespace recrash
