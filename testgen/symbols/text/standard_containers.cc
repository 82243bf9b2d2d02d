// Containers and texts of the standard library.
#include <algorithm>
#include <charconv>

#include "agent/base/printable_text.h"
#include "testgen/symbols/dwarf/expression.h"
#include "testgen/symbols/dwarf/members.h"
#include "testgen/symbols/dwarf/types.h"
#include "testgen/symbols/text/standard_class.h"

namespace recrash {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 40;  // bytes or elements: no process has as many
constexpr size_t kMostBits = 64;

Shown Leaf(std::string text) { return {std::move(text), false, {}, false}; }

uint64_t AlignedTo(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) / alignment * alignment; }

std::string Count(uint64_t count) { return "size " + std::to_string(count); }

Walk Contiguous(uint64_t start, uint64_t size, uint64_t count) {
  Walk walk;
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMaxNodes); ++i) walk.nodes.push_back({start + i * size});
  walk.is_cut = count > kMaxNodes;
  return walk;
}

bool IsKnown(const StandardObject& object, uint64_t address) {
  uint8_t byte = 0;
  return object.memory().Read({address}, {&byte, 1});
}

// "map<" and "unordered_multimap<": two types.
std::optional<Dwarf_Die> Mapped(const StandardObject& object) {
  const std::string name = object.name();
  const bool is_map = name.substr(0, name.find('<')).ends_with("map");
  return is_map ? object.Argument(1) : std::nullopt;
}

}  // namespace

// A string of libstdc++ has a zero behind its text, and its capacity behind its length unless the text is short.
std::optional<Shown> ShowText(const StandardObject& object) {
  const auto start = object.Word(object.row.a), length = object.Word(object.row.b);
  if (!start || !length) return std::nullopt;
  if (*length == 0 && *start == 0) return Leaf("\"\"");
  if (*length > kMost) return object.NotPlausible("length " + std::to_string(*length));
  if (!object.row.c.name.empty()) {
    constexpr uint64_t kShort = 15;
    const auto capacity = object.Word(object.row.c);
    if (*length > kShort && capacity && *capacity < *length)
      return object.NotPlausible("length " + std::to_string(*length) + ", capacity " + std::to_string(*capacity));
    if (!IsKnown(object, *start))
      return object.NotPlausible("text of " + std::to_string(*length) + " at " + HexNumber(*start) +
                                 ", which is not kept");
    const auto end = object.memory().ReadNumber({*start + *length}, 1);
    if (end && *end != 0) return object.NotPlausible("no zero behind the " + std::to_string(*length) + " characters");
  }
  return object.builder().TextAt({*start}, *length);
}

// A string is three words. If the lowest bit of the first byte is set, they are capacity, length and address. If not,
// the first byte has the length, and the text follows. (_LIBCPP_ABI_ALTERNATE_STRING_LAYOUT turns the words round; no
// build for x86-64 sets it.)
std::optional<Shown> ShowLibcxxText(const StandardObject& object) {
  const auto bytes = object.object.bytes;
  if (bytes.size() != 24) return std::nullopt;
  if ((bytes[0] & 1) == 0) {
    const size_t length = bytes[0] / 2;
    if (length > 22) return object.NotPlausible("length " + std::to_string(length) + " of a short text");
    return Leaf(Quoted({reinterpret_cast<const char*>(bytes.data()) + 1, length}, false));
  }
  const uint64_t capacity = ToUnsigned(bytes.first(8)), length = ToUnsigned(bytes.subspan(8, 8));
  if (length >= capacity)
    return object.NotPlausible("length " + std::to_string(length) + ", capacity " + std::to_string(capacity));
  return object.builder().TextAt({ToUnsigned(bytes.subspan(16, 8))}, length);
}

std::optional<Shown> ShowVector(const StandardObject& object) {
  const auto start = object.Word(object.row.a), finish = object.Word(object.row.b), end = object.Word(object.row.c);
  const auto element = object.Argument(0);
  const uint64_t size = element ? TypeSize(object.debug(), *element) : 0;
  if (!start || !finish || !end || size == 0) return std::nullopt;
  const bool fits =
      *start <= *finish && *finish <= *end && (*finish - *start) % size == 0 && (*start == 0) == (*end == 0);
  if (!fits || (*finish != *start && !IsKnown(object, *start)))
    return object.NotPlausible("begin " + HexNumber(*start) + ", end " + HexNumber(*finish) + ", capacity until " +
                               HexNumber(*end));
  const uint64_t count = (*finish - *start) / size;
  return object.Elements(count, Contiguous(*start, size, count), 0, *element);
}

std::optional<Shown> ShowCounted(const StandardObject& object) {
  const auto start = object.Word(object.row.a);
  const auto element = object.Argument(0);
  const uint64_t size = element ? TypeSize(object.debug(), *element) : 0;
  if (!start || size == 0) return std::nullopt;
  uint64_t count = 0;
  if (object.object.bytes.size() < 16) {  // a span of fixed size
    const std::vector<std::string> arguments = ArgumentsAfter(object.name(), "span");
    if (arguments.size() != 2) return std::nullopt;
    std::from_chars(arguments[1].data(), arguments[1].data() + arguments[1].size(), count);
  } else {
    count = object.Word(object.row.b).value_or(0);
  }
  if (count > kMost || (count > 0 && !IsKnown(object, *start)))
    return object.NotPlausible(Count(count) + " at " + HexNumber(*start));
  return object.Elements(count, Contiguous(*start, size, count), 0, *element);
}

std::optional<Shown> ShowBits(const StandardObject& object) {
  const auto start = object.Word(object.row.a), second = object.Word(object.row.b);
  if (!start || !second) return std::nullopt;
  uint64_t count = *second;
  if (!object.row.is_libcxx) {
    // An iterator is a pointer to a word, and the number of a bit in it.
    const auto offset = object.Offset(object.row.b);
    if (*offset + 12 > object.object.bytes.size() || *second < *start) return object.NotPlausible("end before begin");
    count = (*second - *start) * 8 + ToUnsigned(object.object.bytes.subspan(*offset + 8, 4));
  }
  if (count > kMost || (count > 0 && !IsKnown(object, *start)))
    return object.NotPlausible(Count(count) + " at " + HexNumber(*start));
  std::string bits;
  for (uint64_t i = 0; i < std::min<uint64_t>(count, kMostBits); ++i) {
    const auto byte = object.memory().ReadNumber({*start + i / 8}, 1);
    bits += !byte ? '?' : (*byte >> (i % 8) & 1) != 0 ? '1' : '0';
  }
  return Leaf(
      object.Head("of " + std::to_string(count) + (count == 0 ? "" : " " + bits) + (count > kMostBits ? "…" : "")));
}

// Written as its constructor takes it: the last bit first.
std::optional<Shown> ShowBitset(const StandardObject& object) {
  const std::vector<std::string> arguments = ArgumentsAfter(object.name(), "bitset");
  uint64_t count = 0;
  if (arguments.size() != 1) return std::nullopt;
  std::from_chars(arguments[0].data(), arguments[0].data() + arguments[0].size(), count);
  if (count > object.object.bytes.size() * 8) return std::nullopt;
  const auto bit = [&](uint64_t i) { return (object.object.bytes[i / 8] >> (i % 8) & 1) != 0; };
  std::string text;
  if (count <= kMostBits) {
    for (uint64_t i = count; i-- > 0;) text += bit(i) ? '1' : '0';
    return Leaf(text);
  }
  uint64_t set = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!bit(i)) continue;
    if (++set <= kMaxNodes) text += (text.empty() ? "" : ", ") + std::to_string(i);
  }
  return Leaf("bits {" + text + (set > kMaxNodes ? ", …" : "") + "} of " + std::to_string(count));
}

// Nodes begin with the addresses of two others, in one order or the other.
std::optional<Shown> ShowList(const StandardObject& object) {
  const auto first = object.Word(object.row.a), count = object.Word(object.row.b);
  const auto element = object.Argument(0);
  if (!first || !count || !element) return std::nullopt;
  const Walk walk = WalkChain(object.memory(), {{*first}, object.object.address, object.row.c.usual_offset, *count});
  return object.Elements(*count, walk, AlignedTo(16, AlignmentOf(object.debug(), *element)), *element);
}

std::optional<Shown> ShowForwardList(const StandardObject& object) {
  const auto first = object.Word(object.row.a);
  const auto element = object.Argument(0);
  if (!first || !element) return std::nullopt;
  const Walk walk = WalkChain(object.memory(), {{*first}, {}, 0, std::nullopt});
  Shown shown = object.Elements(walk.nodes.size(), walk, AlignedTo(8, AlignmentOf(object.debug(), *element)), *element);
  if (walk.is_cut) shown.text.insert(shown.text.rfind("of ") + 3, "at least ");
  return shown;
}

// libstdc++'s node: colour, parent, left, right, value. libc++'s: left, right, parent, colour, value; the value may lie
// right behind the colour.
std::optional<Shown> ShowTree(const StandardObject& object) {
  const auto header = object.Offset(object.row.a);
  const auto count = object.Word(object.row.b);
  const auto element = object.Argument(0);
  if (!header || !count || !element) return std::nullopt;
  const bool libcxx = object.row.is_libcxx;
  const uint64_t root_at = *header + (libcxx ? 0 : 8);
  const auto root = object.Word({"", root_at});
  if (!root) return std::nullopt;
  const Walk walk = WalkTree(object.memory(), {{*root}, libcxx ? 0u : 16u, libcxx ? 8u : 24u, *count});
  const auto mapped = Mapped(object);
  uint64_t alignment = AlignmentOf(object.debug(), *element);
  if (mapped) alignment = std::max(alignment, AlignmentOf(object.debug(), *mapped));
  return object.Elements(*count, walk, AlignedTo(libcxx ? 25 : 32, alignment), *element, mapped);
}

// libstdc++'s node: next, value. libc++'s: next, hash, value.
std::optional<Shown> ShowHash(const StandardObject& object) {
  const auto first = object.Word(object.row.a), count = object.Word(object.row.b);
  const auto element = object.Argument(0);
  if (!first || !count || !element) return std::nullopt;
  const Walk walk = WalkChain(object.memory(), {{*first}, {}, 0, std::nullopt});
  Walk counted = walk;
  if (!walk.is_cut && walk.remark.empty() && walk.nodes.size() != *count)
    counted.remark = std::to_string(walk.nodes.size()) + " found";
  const auto mapped = Mapped(object);
  uint64_t alignment = AlignmentOf(object.debug(), *element);
  if (mapped) alignment = std::max(alignment, AlignmentOf(object.debug(), *mapped));
  return object.Elements(*count, counted, AlignedTo(object.row.is_libcxx ? 16 : 8, alignment), *element, mapped);
}

// libstdc++ has two iterators: current, first, last, block. libc++ has the blocks (first, begin, end), the first
// element's number, and the count.
std::optional<Shown> ShowDeque(const StandardObject& object) {
  const auto element = object.Argument(0);
  const uint64_t size = element ? TypeSize(object.debug(), *element) : 0;
  const auto a = object.Offset(object.row.a), b = object.Offset(object.row.b);
  if (size == 0 || !a || !b) return std::nullopt;
  const auto word = [&](uint64_t offset) { return object.Word({"", offset}).value_or(0); };
  Blocks blocks;
  blocks.element_size = size;
  bool fits = true;
  if (object.row.is_libcxx) {
    blocks.per_block = size < 256 ? 4096 / size : 16;
    blocks = {{word(8)}, blocks.per_block, size, word(*a), word(*b)};
    fits = word(0) <= word(8) && word(8) <= word(16);
  } else {
    blocks.per_block = size < 512 ? 512 / size : 1;
    const uint64_t current = word(*a), first = word(*a + 8), node = word(*a + 24);
    const uint64_t end = word(*b), end_first = word(*b + 8), end_node = word(*b + 24);
    fits = first <= current && end_first <= end && node <= end_node && (current - first) % size == 0;
    blocks.map = {node};
    blocks.first = (current - first) / size;
    blocks.count = (end_node - node) / 8 * blocks.per_block + (end - end_first) / size - blocks.first;
  }
  if (!fits || blocks.count > kMost || (blocks.count > 0 && !IsKnown(object, blocks.map.value)))
    return object.NotPlausible(Count(blocks.count) + ", blocks at " + HexNumber(blocks.map.value));
  return object.Elements(blocks.count, WalkBlocks(object.memory(), blocks), 0, *element);
}

}  // namespace recrash
