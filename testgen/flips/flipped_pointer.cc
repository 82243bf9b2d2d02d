#include "testgen/flips/flipped_pointer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "testgen/flips/used_pointers.h"

namespace recrash {
namespace {

constexpr uint64_t kPage = 4096;
constexpr int kFirstNotCanonical = 47;
constexpr uint64_t kOverflow = 16 << 20;  // below a stack
constexpr uint64_t kInnermostStack = 4096;
constexpr int kSmallestElement = 1, kLargestElement = 3;  // as powers of two: two to eight bytes

class Finder {
 public:
  Finder(const Report& report, const Symbols& symbols, std::span<const Frame> frames)
      : report_(report), frames_(frames), objects_(report, symbols) {}

  std::optional<FlippedPointer> Find();

 private:
  std::optional<LiveObject> ObjectOf(const UsedPointer& used, int bit);
  std::vector<FlippedPointer> NeighboursOf(const UsedPointer& used);
  bool HasRoom(const FlippedPointer& pointer) const;
  bool HoldsStack(const Mapping& mapping) const;
  bool RanOver(const UsedPointer& used) const;
  bool IsTagged(const FlippedPointer& pointer);
  bool LeadsToStart(uint64_t address);
  bool HasDistance(const FlippedPointer& pointer) const;
  const Registers& registers() const { return report_.failing_thread()->registers; }

  const Report& report_;
  std::span<const Frame> frames_;
  LiveObjects objects_;
};

// The access has to lie in the object that the pointer leads to.
std::optional<LiveObject> Finder::ObjectOf(const UsedPointer& used, int bit) {
  const uint64_t right = used.value ^ uint64_t { 1 } << bit;
  if (used.is_function) return objects_.FunctionAt(right);
  const uint64_t access = used.access - used.value + right;
  const std::optional<LiveObject> object = objects_.At(access);
  if (!object || right < object->start || right > object->end) return std::nullopt;
  // Of memory that nobody can tell objects in, a bit that no pointer has is evidence enough.
  if (!object->is_known && bit < kFirstNotCanonical) return std::nullopt;
  return object;
}

std::vector<FlippedPointer> Finder::NeighboursOf(const UsedPointer& used) {
  std::vector<FlippedPointer> neighbours;
  for (int bit = kLowestBit; bit < 64; ++bit)
    if (const auto object = ObjectOf(used, bit))
      neighbours.push_back({used.value, bit, *object, used.is_function, used.place});
  return neighbours;
}

// An argument that holds the pointer says what it points to.
bool Finder::HasRoom(const FlippedPointer& pointer) const {
  for (const Frame& frame : frames_) {
    for (const Parameter& parameter : frame.parameters) {
      uint64_t value = 0;
      if (parameter.bytes.size() != sizeof value || !parameter.type.is_address() || parameter.type.pointee.empty())
        continue;
      std::memcpy(&value, parameter.bytes.data(), sizeof value);
      if (value == pointer.value && pointer.object.end - pointer.right() < parameter.type.pointee[0].size) return false;
    }
  }
  return true;
}

bool Finder::HoldsStack(const Mapping& mapping) const {
  return std::ranges::any_of(report_.threads, [&](const Thread& thread) {
    return thread.registers.sp() >= mapping.start.value && thread.registers.sp() < mapping.end.value;
  });
}

bool Finder::RanOver(const UsedPointer& used) const {
  if (used.is_function) return false;
  for (const Mapping& mapping : report_.mappings) {
    if ((mapping.flags & (kMapRead | kMapWrite | kMapExecute)) == 0) continue;
    const bool is_behind = used.access - mapping.end.value < kPage;
    const bool is_before = mapping.start.value - used.access <= kPage;
    const bool is_below = mapping.start.value - used.access < kOverflow;
    if (is_behind || is_before || (is_below && HoldsStack(mapping))) return true;
  }
  return false;
}

// What was computed from the flipped pointer leads into other objects, but not to where they begin; or to
// the beginning of a page.
bool Finder::LeadsToStart(uint64_t address) {
  const std::optional<LiveObject> object = objects_.At(address);
  return object && object->start == address && address % kPage != 0;
}

// Does the program set this bit in other pointers, too?
bool Finder::IsTagged(const FlippedPointer& pointer) {
  if (pointer.bit < kFirstNotCanonical) return false;
  const uint64_t mask = uint64_t{1} << pointer.bit;
  for (const Region& region : report_.memory) {
    for (size_t at = 0; at + sizeof(uint64_t) <= region.bytes.size(); at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, &region.bytes[at], sizeof word);
      if ((word & mask) == (pointer.value & mask) && !pointer.IsSo(word) && !objects_.IsUsable(word) &&
          LeadsToStart(word ^ mask))
        return true;
    }
  }
  return false;
}

bool Finder::HasDistance(const FlippedPointer& pointer) const {
  if (pointer.bit >= kFirstNotCanonical || pointer.is_function) return false;
  const auto is_distance = [&](uint64_t word) {
    for (int element = kSmallestElement; element <= kLargestElement; ++element)
      if (word == uint64_t{1} << (pointer.bit - element) || word == -(uint64_t{1} << (pointer.bit - element)))
        return true;
    return false;
  };
  const Registers& now = registers();
  if (std::any_of(now.dwarf.begin(), now.dwarf.end() - 1, is_distance)) return true;
  for (uint64_t at = 0; at < kInnermostStack; at += sizeof(uint64_t))
    if (const auto word = report_.ReadWord({now.sp() + at}); word && is_distance(*word)) return true;
  return false;
}

std::optional<FlippedPointer> Finder::Find() {
  std::optional<FlippedPointer> found;
  for (const UsedPointer& used : UsedPointers(report_, objects_)) {
    if (RanOver(used)) return std::nullopt;
    std::vector<FlippedPointer> neighbours = NeighboursOf(used);
    std::erase_if(neighbours, [&](const FlippedPointer& pointer) { return !HasRoom(pointer); });
    if (neighbours.empty()) continue;
    if (neighbours.size() > 1) return std::nullopt;
    // Several registers may lead into the same object.
    const bool is_same = found && found->bit == neighbours[0].bit && found->object.start == neighbours[0].object.start;
    if (found && !is_same) return std::nullopt;
    if (!found) found = std::move(neighbours[0]);
  }
  if (!found || IsTagged(*found) || HasDistance(*found)) return std::nullopt;
  return found;
}

}  // namespace

std::optional<FlippedPointer> FindFlippedPointer(const Report& report, const Symbols& symbols,
                                                 std::span<const Frame> frames) {
  return Finder(report, symbols, frames).Find();
}

}  // namespace recrash
