#include "testgen/explain/code_graph.h"

#include <algorithm>
#include <set>

namespace recrash::explain {
namespace {

// Post-dominators of n blocks take n² bits.
constexpr size_t kMostBlocks = 4096;

bool EndsBlock(CodeKind kind) {
  return kind == CodeKind::kJump || kind == CodeKind::kBranch || kind == CodeKind::kReturn || kind == CodeKind::kStop;
}

// Where a jump leads; 0: that is computed.
uint64_t TargetOf(const CodeInstruction& jump) {
  for (const CodeOperand& operand : jump.operands)
    if (operand.kind == CodeOperand::kImmediate) return static_cast<uint64_t>(operand.immediate);
  return 0;
}

std::vector<CodeInstruction> Decoded(std::span<const uint8_t> code, uint64_t entry) {
  std::vector<CodeInstruction> instructions;
  for (size_t at = 0; at < code.size();) {
    CodeInstruction instruction = DecodeCode(code.subspan(at), entry + at);
    if (instruction.length == 0) break;
    at += instruction.length;
    instructions.push_back(std::move(instruction));
  }
  return instructions;
}

}  // namespace

CodeGraph::CodeGraph(std::span<const uint8_t> code, uint64_t entry) : entry_(entry), end_(entry + code.size()) {
  const std::vector<CodeInstruction> instructions = Decoded(code, entry);
  if (!instructions.empty()) end_ = instructions.back().next();
  Split(instructions);
  if (begins_.size() > kMostBlocks) return;
  Connect(instructions);
  FindPostdominators();
}

void CodeGraph::Split(const std::vector<CodeInstruction>& instructions) {
  std::set<uint64_t> begins = {entry_};
  for (const CodeInstruction& instruction : instructions) {
    if (!EndsBlock(instruction.kind)) continue;
    if (Holds(instruction.next())) begins.insert(instruction.next());
    if (const uint64_t target = TargetOf(instruction); Holds(target)) begins.insert(target);
  }
  for (const uint64_t begin : begins) begins_.emplace(begin, begins_.size());
}

size_t CodeGraph::BlockOf(uint64_t pc) const { return std::prev(begins_.upper_bound(pc))->second; }

void CodeGraph::Connect(const std::vector<CodeInstruction>& instructions) {
  successors_.resize(begins_.size());
  for (const CodeInstruction& instruction : instructions) {
    const bool is_last = EndsBlock(instruction.kind) || begins_.contains(instruction.next());
    if (!is_last) continue;
    std::vector<size_t>& to = successors_[BlockOf(instruction.pc)];
    const uint64_t target = TargetOf(instruction);
    const bool jumps = instruction.kind == CodeKind::kJump || instruction.kind == CodeKind::kBranch;
    if (jumps && Holds(target)) to.push_back(BlockOf(target));
    const bool goes_on = instruction.kind == CodeKind::kBranch || !EndsBlock(instruction.kind);
    if (goes_on && Holds(instruction.next())) to.push_back(BlockOf(instruction.next()));
    if (instruction.kind == CodeKind::kBranch) branches_[instruction.pc] = {target, instruction.next()};
  }
}

// The largest solution of: a block is post-dominated by itself, and by what post-dominates all its successors.
void CodeGraph::FindPostdominators() {
  const size_t count = successors_.size();
  const size_t words = (count + 63) / 64;
  after_.assign(count, Blocks(words, UINT64_MAX));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t block = count; block-- > 0;) {
      Blocks now(words, successors_[block].empty() ? 0 : UINT64_MAX);
      for (const size_t next : successors_[block])
        for (size_t i = 0; i < words; ++i) now[i] &= after_[next][i];
      now[block / 64] |= 1ull << (block % 64);
      if (now == after_[block]) continue;
      after_[block] = std::move(now);
      changed = true;
    }
  }
}

bool CodeGraph::Decides(uint64_t branch, uint64_t taken, uint64_t instruction) const {
  const auto found = branches_.find(branch);
  if (after_.empty()) return true;
  if (found == branches_.end() || !Holds(instruction)) return false;
  const auto [target, next] = found->second;
  const uint64_t other = taken == target ? next : target;
  const size_t block = BlockOf(instruction);
  const bool always = Holds(taken) && IsPostdominated(BlockOf(taken), block);
  const bool otherwise = Holds(other) && IsPostdominated(BlockOf(other), block);
  return always && !otherwise;
}

}  // namespace recrash::explain
