// Finds the elements of containers that are made of nodes: their addresses, in the container's order.
//
//   const Walk walk = WalkChain(memory, first, end, count);
//   for (const TargetAddress node : walk.nodes) ...
//
// The memory may be anything. A walk visits at most kMaxNodes nodes, and says what is wrong in `remark`: a node that
// cannot be read, or fewer nodes than the container's size says.
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_CONTAINER_WALK_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_CONTAINER_WALK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "testgen/symbols/files/report_memory.h"

namespace recrash {

constexpr size_t kMaxNodes = 8;

struct Walk {
  std::vector<TargetAddress> nodes;
  bool is_cut = false;  // there are more
  std::string remark;   // what is not as it has to be; empty if nothing
};

// A list whose nodes have the address of the next one at `next`. Ends at null and at `end`. Without `count`, the
// container does not know its size.
struct Chain {
  TargetAddress first, end;
  uint64_t next = 0;
  std::optional<uint64_t> count;
};
Walk WalkChain(const ReportMemory& memory, const Chain& chain);

// A binary tree with the children's addresses at `left` and `right` of each node; null where there is none.
struct Tree {
  TargetAddress root;
  uint64_t left = 0, right = 0;
  uint64_t count = 0;
};
Walk WalkTree(const ReportMemory& memory, const Tree& tree);

// Elements in blocks of `per_block`, whose addresses lie one behind the other from `map` on. `first`: the number of the
// first element, counted from the start of the first block.
struct Blocks {
  TargetAddress map;
  uint64_t per_block = 1, element_size = 1, first = 0, count = 0;
};
Walk WalkBlocks(const ReportMemory& memory, const Blocks& blocks);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_CONTAINER_WALK_H_
