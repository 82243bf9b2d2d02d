#include "agent/report/report.h"

#include <algorithm>
#include <cstring>

namespace recrash {

const char* WhyNotHeld(InputContent content) {
  static_assert(kMaxHeldInput == 4u << 20 && kMaxHeldInputs == 16u << 20, "the sentences below name them");
  switch (content) {
    case InputContent::kHeld:
      break;
    case InputContent::kNotAsked:
      return "RECRASH_OPTIONS=files=embed keeps contents";
    case InputContent::kTooLarge:
      return "larger than 4 MiB";
    case InputContent::kNoRoom:
      return "beyond the 16 MiB of all";
    case InputContent::kUnreadable:
      return "it could not be read";
  }
  return "";
}

const Thread* Report::failing_thread() const {
  auto found = std::ranges::find_if(threads, &Thread::failing);
  return found == threads.end() ? nullptr : &*found;
}

const Module* Report::program() const {
  auto found = std::ranges::find_if(modules, &Module::is_program);
  return found == modules.end() ? nullptr : &*found;
}

const Module* FindModule(std::span<const Module> modules, TargetAddress address) {
  const auto found = std::ranges::find_if(
      modules, [&](const Module& module) { return address >= module.base && address - module.base < module.size; });
  return found == modules.end() ? nullptr : &*found;
}

const Module* Report::FindModule(TargetAddress address) const { return recrash::FindModule(modules, address); }

const Mapping* Report::FindMapping(TargetAddress address) const {
  auto found = std::ranges::find_if(
      mappings, [&](const Mapping& mapping) { return address >= mapping.start && address < mapping.end; });
  return found == mappings.end() ? nullptr : &*found;
}

bool Report::Read(TargetAddress address, std::span<uint8_t> out) const {
  while (!out.empty()) {
    auto next = std::ranges::upper_bound(memory, address, {}, &Region::address);
    if (next == memory.begin()) return false;
    const Region& region = *std::prev(next);
    const uint64_t offset = address - region.address;
    if (offset >= region.bytes.size()) return false;
    const size_t length = std::min<uint64_t>(out.size(), region.bytes.size() - offset);
    std::memcpy(out.data(), region.bytes.data() + offset, length);
    out = out.subspan(length);
    address = address + length;
  }
  return true;
}

std::optional<uint64_t> Report::ReadWord(TargetAddress address) const {
  uint64_t word;
  if (!Read(address, {reinterpret_cast<uint8_t*>(&word), sizeof word})) return std::nullopt;
  return word;
}

uint64_t ReplayFrame::StreamBits() const {
  uint64_t bits = 0;
  for (const ReplayStream& stream : streams)
    if (stream.parameter <= kLastRewound) bits |= uint64_t{1} << stream.parameter;
  return bits;
}

uint64_t SizeOf(const std::vector<Region>& regions) {
  uint64_t bytes = 0;
  for (const Region& region : regions) bytes += region.bytes.size();
  return bytes;
}

EntryMemory::EntryMemory(Layer pages) {
  std::vector<Layer> layers;
  layers.push_back(std::move(pages));
  layers_ = std::make_shared<const std::vector<Layer>>(std::move(layers));
}

std::vector<EntryMemory> EntryMemory::Of(std::vector<Layer> differences) {
  std::vector<EntryMemory> memories(differences.size());
  const auto layers = std::make_shared<const std::vector<Layer>>(std::move(differences));
  for (size_t i = 0; i < memories.size(); ++i) {
    memories[i].layers_ = layers;
    memories[i].first_ = i;
  }
  return memories;
}

std::span<const EntryMemory::Layer> EntryMemory::layers() const {
  return layers_ ? std::span(*layers_).subspan(first_) : std::span<const Layer>();
}

const EntryMemory::Layer& EntryMemory::own() const {
  static const Layer kNone;
  return layers_ ? (*layers_)[first_] : kNone;
}

const EntryState* ReplayData::FindEntryState(uint32_t frame) const {
  const auto found = std::ranges::find(entry_states, frame, &EntryState::frame);
  return found == entry_states.end() ? nullptr : &*found;
}

const ModuleImage* ReplayData::FindImage(const Module& module) const {
  for (const ModuleImage& image : images)
    if (image.base == module.base) return &image;
  return nullptr;
}

}  // namespace recrash
