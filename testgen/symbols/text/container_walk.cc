#include "testgen/symbols/text/container_walk.h"

#include <algorithm>

#include "agent/base/printable_text.h"

namespace recrash {
namespace {

constexpr size_t kMaxDepth = 128;  // a balanced tree of 2^64 nodes is at most so deep

std::string NoNode(TargetAddress address) { return "no node at " + HexNumber(address.value); }

// A walk that ended early, although the size says that there is more.
void CompareCount(uint64_t count, bool ended, Walk& walk) {
  if (!walk.remark.empty()) return;
  if (ended && walk.nodes.size() != count) walk.remark = std::to_string(walk.nodes.size()) + " found";
  if (!ended && walk.nodes.size() >= count) walk.remark = "more found";
  walk.is_cut = !ended;
}

}  // namespace

Walk WalkChain(const ReportMemory& memory, const Chain& chain) {
  Walk walk;
  TargetAddress at = chain.first;
  const auto is_end = [&] { return at.value == 0 || at == chain.end; };
  while (!is_end() && walk.nodes.size() < kMaxNodes) {
    // A list's last node leads to the list itself, whose address is not always known: then its size ends it.
    if (chain.end.value == 0 && chain.count && walk.nodes.size() == *chain.count) break;
    const auto next = memory.ReadWord(at + chain.next);
    if (!next) {
      walk.remark = NoNode(at);
      return walk;
    }
    if (std::ranges::find(walk.nodes, at) != walk.nodes.end()) {
      walk.remark = "a loop";
      return walk;
    }
    walk.nodes.push_back(at);
    at = {*next};
  }
  const bool counted_out = chain.end.value == 0 && chain.count && walk.nodes.size() == *chain.count;
  if (chain.count)
    CompareCount(*chain.count, is_end() || counted_out, walk);
  else
    walk.is_cut = !is_end();
  return walk;
}

Walk WalkTree(const ReportMemory& memory, const Tree& tree) {
  Walk walk;
  std::vector<TargetAddress> above;
  TargetAddress at = tree.root;
  while ((at.value != 0 || !above.empty()) && walk.nodes.size() < kMaxNodes) {
    for (; at.value != 0; at = {*memory.ReadWord(at + tree.left)}) {
      if (!memory.ReadWord(at + tree.left) || !memory.ReadWord(at + tree.right)) {
        walk.remark = NoNode(at);
        return walk;
      }
      above.push_back(at);
      if (above.size() > kMaxDepth) {
        walk.remark = "a loop";
        return walk;
      }
    }
    walk.nodes.push_back(above.back());
    at = {*memory.ReadWord(above.back() + tree.right)};
    above.pop_back();
  }
  CompareCount(tree.count, at.value == 0 && above.empty(), walk);
  return walk;
}

Walk WalkBlocks(const ReportMemory& memory, const Blocks& blocks) {
  Walk walk;
  for (uint64_t i = 0; i < std::min<uint64_t>(blocks.count, kMaxNodes); ++i) {
    const uint64_t number = blocks.first + i;
    const TargetAddress entry = blocks.map + 8 * (number / blocks.per_block);
    const auto block = memory.ReadWord(entry);
    if (!block) {
      walk.remark = "no block at " + HexNumber(entry.value);
      return walk;
    }
    walk.nodes.push_back({*block + number % blocks.per_block * blocks.element_size});
  }
  walk.is_cut = blocks.count > kMaxNodes;
  return walk;
}

}  // namespace recrash
