// A *point* is an instruction at which the frame can be seen: a call that returns, or what can fault. For each argument
// that debug information follows there is a set of blocks with points at which it is not at hand: it is dead while the
// function waits for a call, or dead at a fault inside a loop. (At other faults the frame is the innermost, and the
// register of an argument that died shortly before still has it: in pugixml and yaml-cpp at 98.5 % of them.) Stores
// have to stand on each path to these blocks. Of all places the ones are chosen that run least often by LLVM's own
// estimate (cold are paths to throws and aborts): bottom-up in the dominator tree, a block itself against the sum of
// what was chosen below it.
//
// The label's address then no longer tells whether the stores have run: code that they do not dominate may lie behind
// it. It need not: where they have not, an argument that debug information follows is at hand, and of one that it does
// not follow the store dominates all points. So a reader asks debug information first where the descriptor says that
// it follows.
#include "shadowstack/pass/placement.h"

#include <limits>
#include <map>
#include <optional>

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "shadowstack/pass/liveness.h"
#include "shadowstack/pass/selection/can_fail.h"

namespace recrash::pass {
namespace {

// ---- What debug information follows ------------------------------------------------------------------------------

// The value itself, perhaps widened: a bool is one bit to LLVM and a byte in the source.
bool IsPlain(const llvm::DIExpression& expression) {
  for (auto op = expression.expr_op_begin(); op != expression.expr_op_end(); ++op)
    if (op->getOp() != llvm::dwarf::DW_OP_LLVM_convert && op->getOp() != llvm::dwarf::DW_OP_stack_value) return false;
  return true;
}

// The variable has the argument's value wherever it has one: it is never assigned.
std::vector<bool> FindFollowed(const llvm::Function& function, const std::vector<SourceParameter>& sources) {
  std::map<unsigned, const llvm::Argument*> carriers;  // by parameter; null: more, or others, than one argument
  const llvm::DISubprogram* subprogram = function.getSubprogram();
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block)
      for (const llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange())) {
        const llvm::DILocalVariable* variable = record.getVariable();
        if (variable->getArg() == 0 || record.getDebugLoc().getInlinedAt() ||
            variable->getScope()->getSubprogram() != subprogram)
          continue;
        const bool whole = record.getType() == llvm::DbgVariableRecord::LocationType::Value &&
                           record.getNumVariableLocationOps() == 1 && IsPlain(*record.getExpression());
        const auto* argument =
            whole ? llvm::dyn_cast_or_null<llvm::Argument>(record.getVariableLocationOp(0)) : nullptr;
        const auto [known, is_new] = carriers.emplace(variable->getArg(), argument);
        if (!is_new && known->second != argument) known->second = nullptr;
      }
  std::vector<bool> followed(function.arg_size());
  for (const llvm::Argument& argument : function.args()) {
    const SourceParameter& source = sources[argument.getArgNo()];
    const auto carrier = carriers.find(source.number);
    followed[argument.getArgNo()] = source.number != 0 && source.offset == 0 && !source.indirect &&
                                    !argument.hasByValAttr() && carrier != carriers.end() &&
                                    carrier->second == &argument;
  }
  return followed;
}

// ---- Points ------------------------------------------------------------------------------------------------------

constexpr unsigned kIntegerRegisters = 6;
constexpr unsigned kVectorRegisters = 8;

// As many arguments as certainly fit in registers, none of them in memory.
template <typename Arguments>
bool PassesInRegisters(const Arguments& types) {
  unsigned integers = 0, vectors = 0;
  for (const llvm::Type* type : types) {
    if (type->isPointerTy() || (type->isIntegerTy() && type->getIntegerBitWidth() <= 64))
      ++integers;
    else if (type->isFloatTy() || type->isDoubleTy())
      ++vectors;
    else
      return false;
  }
  return integers <= kIntegerRegisters && vectors <= kVectorRegisters;
}

// The backend makes it a jump, so that nothing is seen of this frame behind it.
bool BecomesTailCall(const llvm::CallInst& call) {
  if (call.isMustTailCall()) return true;
  const llvm::Function& function = *call.getFunction();
  if (!call.isTailCall() || call.isInlineAsm() || llvm::isa<llvm::IntrinsicInst>(call) ||
      function.getFnAttribute("disable-tail-calls").getValueAsBool() || function.hasStructRetAttr())
    return false;
  const llvm::Instruction* next = call.getNextNode();
  const auto* end = llvm::dyn_cast_or_null<llvm::ReturnInst>(next);
  if (!end || (end->getReturnValue() && end->getReturnValue() != &call)) return false;
  if (call.hasStructRetAttr() || call.getFunctionType()->isVarArg()) return false;
  std::vector<llvm::Type*> types;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (call.isByValArgument(i)) return false;
    types.push_back(call.getArgOperand(i)->getType());
  }
  return PassesInRegisters(types);
}

// A copy or fill of a few bytes becomes loads and stores.
bool IsInlineMemoryOperation(const llvm::CallBase& call) {
  constexpr uint64_t kMostBytes = 128;
  const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&call);
  const auto* length = memory ? llvm::dyn_cast<llvm::ConstantInt>(memory->getLength()) : nullptr;
  return length && length->getZExtValue() <= kMostBytes;
}

enum class Point { kNone, kFault, kCall };

Point Classify(const llvm::Instruction& instruction) {
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    if (intrinsic->isAssumeLikeIntrinsic()) return Point::kNone;
  if (!CanFail(instruction)) return Point::kNone;
  // Behind a call that does not return.
  if (llvm::isa<llvm::UnreachableInst>(instruction) && llvm::isa_and_nonnull<llvm::CallBase>(instruction.getPrevNode()))
    return Point::kNone;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call || IsInlineMemoryOperation(*call)) return Point::kFault;
  const auto* plain = llvm::dyn_cast<llvm::CallInst>(call);
  return plain && BecomesTailCall(*plain) ? Point::kNone : Point::kCall;
}

// ---- The blocks --------------------------------------------------------------------------------------------------

// In which the stores have to have been made by the first point.
using Needs = llvm::SmallPtrSet<const llvm::BasicBlock*, 16>;

// Blocks with points at which the argument is not at hand.
Needs BlocksWithout(const llvm::Argument& argument, const llvm::LoopInfo& loops) {
  const Liveness liveness(argument, loops);
  Needs without;
  for (const llvm::BasicBlock& block : *argument.getParent()) {
    const bool in_loop = loops.getLoopFor(&block) != nullptr;
    bool live = liveness.IsLiveOut(block);
    for (const llvm::Instruction& instruction : llvm::reverse(block)) {
      const bool used = liveness.IsUsedBy(instruction);
      const Point point = Classify(instruction);
      if (!live && (point == Point::kCall || (point == Point::kFault && in_loop && !used))) without.insert(&block);
      live |= used;
    }
  }
  return without;
}

// Copies of the stores in several branches are more code, which has to pay: with 1 in place of 0.5 pugixml and yaml-cpp
// had 1.7 and 1.0 % more .text, for 0.2 and 0.0 % fewer instructions.
constexpr double kMostOfBranches = 0.5;

class BlockChooser {
 public:
  BlockChooser(const llvm::DominatorTree& tree, const llvm::LoopInfo& loops,
               const llvm::BlockFrequencyInfo& frequencies, const Needs& needs)
      : tree_(tree), loops_(loops), frequencies_(frequencies), needs_(needs) {}

  llvm::SmallVector<llvm::Instruction*, 1> Run() {
    for (const llvm::DomTreeNode* node : llvm::post_order(tree_.getRootNode())) Weigh(*node);
    llvm::SmallVector<llvm::Instruction*, 1> chosen;
    std::vector<const llvm::DomTreeNode*> pending = {tree_.getRootNode()};
    while (!pending.empty()) {
      const llvm::DomTreeNode* node = pending.back();
      pending.pop_back();
      const Choice& choice = choices_[node];
      if (!choice.needed) continue;
      if (choice.here)
        chosen.push_back(&*node->getBlock()->getFirstInsertionPt());
      else
        pending.insert(pending.end(), node->begin(), node->end());
    }
    return chosen;
  }

 private:
  struct Choice {
    double cost = 0;
    bool needed = false;  // here or below
    bool here = false;
  };

  void Weigh(const llvm::DomTreeNode& node) {
    const llvm::BasicBlock* block = node.getBlock();
    const double own = loops_.getLoopFor(block) ? std::numeric_limits<double>::infinity()
                                                : static_cast<double>(frequencies_.getBlockFreq(block).getFrequency());
    double below = 0;
    unsigned branches = 0;
    for (const llvm::DomTreeNode* child : node) {
      const Choice& choice = choices_[child];
      below += choice.cost;
      branches += choice.needed;
    }
    Choice& choice = choices_[&node];
    choice.needed = branches != 0 || needs_.contains(block);
    choice.here = needs_.contains(block) || (branches != 0 && below >= own * (branches > 1 ? kMostOfBranches : 1));
    choice.cost = choice.here ? own : below;
  }

  const llvm::DominatorTree& tree_;
  const llvm::LoopInfo& loops_;
  const llvm::BlockFrequencyInfo& frequencies_;
  const Needs& needs_;
  std::map<const llvm::DomTreeNode*, Choice> choices_;
};

class Placer {
 public:
  Placer(llvm::Function& function, const std::vector<SourceParameter>& sources, const std::vector<CopiedFields>& copied,
         WriteEffects* effects)
      : function_(function),
        copied_(copied),
        effects_(effects),
        followed_(FindFollowed(function, sources)),
        tree_(function),
        loops_(tree_) {}

  std::vector<ArgumentPlace> Run() {
    std::vector<ArgumentPlace> places(function_.arg_size());
    llvm::Instruction* copies_before = ChooseOne(BlocksThatChangeFields());
    for (const llvm::Argument& argument : function_.args()) {
      if (argument.use_empty()) continue;
      const unsigned number = argument.getArgNo();
      ArgumentPlace& place = places[number];
      place.followed = followed_[number];
      const Needs needs = NeedsOf(argument);
      if (copied_[number].empty() || !copies_before) {
        place.before = Choose(needs);
        continue;
      }
      place.copies_before = copies_before;
      if (!needs.empty() || !copies_before->getParent()->isEntryBlock()) place.before = {copies_before};
    }
    return places;
  }

 private:
  Needs NeedsOf(const llvm::Argument& argument) {
    if (followed_[argument.getArgNo()]) return BlocksWithout(argument, loops_);
    return BlocksWith([](const llvm::Instruction& instruction) { return Classify(instruction) != Point::kNone; });
  }

  // And those in which a pointer to fields has to be in the record: both are put at one place.
  Needs BlocksThatChangeFields() {
    CopiedFields accesses;
    for (const CopiedFields& of_argument : copied_)
      accesses.insert(accesses.end(), of_argument.begin(), of_argument.end());
    if (accesses.empty()) return {};
    Needs blocks = BlocksWith([&](const llvm::Instruction& instruction) {
      return llvm::any_of(accesses,
                          [&](const llvm::Instruction* access) { return effects_->MayWrite(instruction, *access); });
    });
    for (const llvm::Argument& argument : function_.args()) {
      if (copied_[argument.getArgNo()].empty()) continue;
      const Needs needs = NeedsOf(argument);
      blocks.insert(needs.begin(), needs.end());
    }
    return blocks;
  }

  template <typename Predicate>
  Needs BlocksWith(const Predicate& predicate) const {
    Needs needs;
    for (const llvm::BasicBlock& block : function_)
      if (llvm::any_of(block, predicate)) needs.insert(&block);
    return needs;
  }

  // A second copy, behind a write that came between, would be of what was written.
  llvm::Instruction* ChooseOne(const Needs& needs) {
    llvm::BasicBlock* common = nullptr;
    for (const llvm::BasicBlock* block : needs) {
      if (!tree_.isReachableFromEntry(block)) continue;
      auto* next = const_cast<llvm::BasicBlock*>(block);
      common = common ? tree_.findNearestCommonDominator(common, next) : next;
    }
    if (!common) return nullptr;
    while (loops_.getLoopFor(common)) common = tree_.getNode(common)->getIDom()->getBlock();
    return common->isEntryBlock() ? HeadOf(function_) : &*common->getFirstInsertionPt();
  }

  llvm::SmallVector<llvm::Instruction*, 1> Choose(const Needs& needs) {
    if (needs.empty()) return {};
    if (needs.contains(&function_.getEntryBlock())) return {HeadOf(function_)};
    if (!frequencies_) {
      chances_.emplace(function_, loops_);
      frequencies_.emplace(function_, *chances_, loops_);
    }
    auto chosen = BlockChooser(tree_, loops_, *frequencies_, needs).Run();
    for (llvm::Instruction*& before : chosen)
      if (before->getParent() == &function_.getEntryBlock()) before = HeadOf(function_);
    return chosen;
  }

  llvm::Function& function_;
  const std::vector<CopiedFields>& copied_;
  WriteEffects* const effects_;
  std::vector<bool> followed_;
  llvm::DominatorTree tree_;
  llvm::LoopInfo loops_;
  // Only made where a store may stand behind the first block.
  std::optional<llvm::BranchProbabilityInfo> chances_;
  std::optional<llvm::BlockFrequencyInfo> frequencies_;
};

// setjmp returns to code whose registers are of an earlier moment.
bool StoresEverythingAtOnce(const llvm::Function& function) {
  return function.hasOptNone() || function.callsFunctionThatReturnsTwice();
}

}  // namespace

llvm::Instruction* HeadOf(llvm::Function& function) {
  auto point = function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
  while (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&*point)) {
    if (!llvm::isa<llvm::Argument>(store->getValueOperand()) ||
        !llvm::isa<llvm::AllocaInst>(store->getPointerOperand()))
      break;
    ++point;
  }
  return &*point;
}

std::vector<ArgumentPlace> PlaceArguments(llvm::Function& function, const std::vector<SourceParameter>& sources,
                                          const std::vector<CopiedFields>& copied, WriteEffects* effects) {
  if (!StoresEverythingAtOnce(function)) return Placer(function, sources, copied, effects).Run();
  std::vector<ArgumentPlace> places(function.arg_size());
  for (const llvm::Argument& argument : function.args()) {
    if (argument.use_empty()) continue;
    ArgumentPlace& place = places[argument.getArgNo()];
    place.before = {HeadOf(function)};
    place.copies_before = HeadOf(function);
  }
  return places;
}

}  // namespace recrash::pass
