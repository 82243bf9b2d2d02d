#include "testgen/minimise/patch.h"

#include <algorithm>

namespace recrash {

Patch::Patch(std::vector<ByteRange> ranges) {
  if (!std::ranges::is_sorted(ranges)) std::ranges::sort(ranges);
  for (const ByteRange& range : ranges) {
    if (range.start >= range.end) continue;
    if (!ranges_.empty() && range.start <= ranges_.back().end)
      ranges_.back().end = std::max(ranges_.back().end, range.end);
    else
      ranges_.push_back(range);
  }
}

uint64_t Patch::size() const {
  uint64_t size = 0;
  for (const ByteRange& range : ranges_) size += range.size();
  return size;
}

Patch Combine(const Patch& one, const Patch& other) {
  std::vector<ByteRange> ranges = one.ranges();
  ranges.insert(ranges.end(), other.ranges().begin(), other.ranges().end());
  return Patch(std::move(ranges));
}

Patch Combine(std::span<const Patch> all) {
  std::vector<ByteRange> ranges;
  for (const Patch& one : all) ranges.insert(ranges.end(), one.ranges().begin(), one.ranges().end());
  return Patch(std::move(ranges));
}

Patch Without(const Patch& all, const Patch& kept) {
  std::vector<ByteRange> ranges;
  auto next = kept.ranges().begin();
  for (ByteRange range : all.ranges()) {
    while (next != kept.ranges().end() && next->end <= range.start) ++next;
    for (auto cut = next; cut != kept.ranges().end() && cut->start < range.end; ++cut) {
      ranges.push_back({range.start, std::max(range.start, cut->start)});
      range.start = std::min(range.end, cut->end);
    }
    ranges.push_back(range);
  }
  return Patch(std::move(ranges));
}

Patch Intersect(const Patch& one, const Patch& other) { return Without(one, Without(one, other)); }

Patch Inside(const Patch& patch, const ByteRange& range) {
  std::vector<ByteRange> inside;
  auto next = std::ranges::upper_bound(patch.ranges(), range.start, {}, &ByteRange::end);
  for (; next != patch.ranges().end() && next->start < range.end; ++next)
    inside.push_back({std::max(next->start, range.start), std::min(next->end, range.end)});
  return Patch(std::move(inside));
}

void Apply(const Patch& patch, const plan::Fill& fill, uint64_t address, std::span<uint8_t> bytes) {
  for (const ByteRange& range : patch.ranges()) {
    for (size_t i = 0; i < bytes.size(); ++i)
      if (address + i >= range.start && address + i < range.end)
        bytes[i] = plan::FillByte(fill, range.start, address + i - range.start);
  }
}

std::vector<plan::Piece> PiecesOf(const Patch& patch) {
  std::vector<plan::Piece> pieces;
  for (const ByteRange& range : patch.ranges()) pieces.push_back({range.start, range.size()});
  return pieces;
}

}  // namespace recrash
