// The branches of one function: which of them decided that an instruction was reached.
//
//   CodeGraph graph(code, entry);
//   if (graph.Decides(branch, taken, instruction)) …
//
// A branch decides if the instruction is reached whichever way goes on behind `taken`, and not on the branch's other
// way: it post-dominates the one successor and not the other.
#ifndef RECRASH_TESTGEN_EXPLAIN_CODE_GRAPH_H_
#define RECRASH_TESTGEN_EXPLAIN_CODE_GRAPH_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "testgen/explain/machine_code.h"

namespace recrash::explain {

class CodeGraph {
 public:
  // `code` is the function's, from `entry` on.
  CodeGraph(std::span<const uint8_t> code, uint64_t entry);

  bool Holds(uint64_t pc) const { return pc >= entry_ && pc < end_; }
  // `taken`: where the conditional jump at `branch` went to. Without the graph, too large, each branch decides.
  bool Decides(uint64_t branch, uint64_t taken, uint64_t instruction) const;

 private:
  using Blocks = std::vector<uint64_t>;  // a set: a bit a block

  size_t BlockOf(uint64_t pc) const;
  void Split(const std::vector<CodeInstruction>& instructions);
  void Connect(const std::vector<CodeInstruction>& instructions);
  void FindPostdominators();
  bool IsPostdominated(size_t block, size_t by) const { return (after_[block][by / 64] >> (by % 64) & 1) != 0; }

  uint64_t entry_;
  uint64_t end_;
  std::map<uint64_t, size_t> begins_;                           // of blocks
  std::vector<std::vector<size_t>> successors_;                 // by block; none: the function's end
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> branches_;  // by address: target, next
  std::vector<Blocks> after_;                                   // by block: what post-dominates it
};

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_CODE_GRAPH_H_
