#include "testgen/literals/start_memory.h"

#include <algorithm>
#include <cstring>

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;

void Lay(const ReplayField& field, uint64_t address, std::span<uint8_t> out) {
  for (size_t i = 0; i < field.bytes.size(); ++i) {
    const uint64_t at = field.address.value + i;
    if (at >= address && at - address < out.size()) out[at - address] = field.bytes[i];
  }
}

}  // namespace

StartMemory::StartMemory(const TestReport& report, const ReplayFrame& frame) : report_(report), frame_(frame) {
  if (frame.start.from_entry) state_ = report.replay.FindEntryState(frame.index);
  if (state_) pages_ = PagesOf(report, *state_);
}

bool StartMemory::Read(uint64_t address, std::span<uint8_t> out) const {
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t at = address + done, page = at & ~(kPage - 1);
    const std::span<uint8_t> part = out.subspan(done, std::min<uint64_t>(out.size() - done, page + kPage - at));
    const auto found = pages_.find(page);
    if (found != pages_.end())
      std::memcpy(part.data(), found->second + (at - page), part.size());
    else if (!report_.Read({at}, part) && !ReadImage(at, part))
      return false;
    done += part.size();
  }
  for (const ReplayField& field : frame_.fields)
    if (field.depth <= frame_.start.depth) Lay(field, address, out);
  return true;
}

// Texts of the program, which a report leaves to its image.
bool StartMemory::ReadImage(uint64_t address, std::span<uint8_t> out) const {
  for (const ModuleImage& image : report_.replay.images)
    for (const Region& region : image.read_only) {
      if (address < region.address.value || address - region.address.value > region.bytes.size()) continue;
      const uint64_t offset = address - region.address.value;
      if (out.size() > region.bytes.size() - offset) continue;
      std::memcpy(out.data(), region.bytes.data() + offset, out.size());
      return true;
    }
  return false;
}

}  // namespace recrash
