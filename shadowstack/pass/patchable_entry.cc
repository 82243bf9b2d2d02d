// Patched, the first two bytes of the entry become a short jump into the prefix, and the prefix a jump to code of the
// agent's; so nothing needs to be executed where nothing is patched. A five-byte nop at the entry costs one instruction
// a call: 1.0-2.1 %.
//
// LLVM's "patchable-function-prefix" would emit the same bytes, but also an absolute pointer for each function
// (`__patchable_function_entries`), which in a position-independent program is a relocation at every start. Prefix data
// needs neither: the prefix is recognised by what it holds (abi::kEntryPrefix), and found by the function's address.
//
// The two bytes may cover two instructions, where the first is a push of one byte. Then no branch may lead to the
// second one. The agent reads the direct branches of the function before it patches, but not its jump tables. Where the
// entry block stores arguments, as no other block does, none can be merged into it directly behind the push, nor can it
// be empty: no table leads there. Other functions that may have a jump table get LLVM's "prologue-short-redirect", a
// first instruction of two bytes or more (a nop where it would be one; clang 19 does not use the long form of the
// push), and their prefix says so.
#include "shadowstack/pass/patchable_entry.h"

#include <algorithm>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "shadowstack/abi.h"

namespace recrash::pass {
namespace {

constexpr uint8_t kTrap = 0xcc;

bool MayHaveJumpTable(const llvm::Function& function) {
  return llvm::any_of(function, [](const llvm::BasicBlock& block) {
    const llvm::Instruction* last = block.getTerminator();
    return llvm::isa<llvm::SwitchInst>(last) || llvm::isa<llvm::IndirectBrInst>(last) ||
           llvm::isa<llvm::CallBrInst>(last);
  });
}

// The entry lies behind the prefix, so this must keep the alignment that the function was promised. (Of pointers to
// member functions the lowest bit is a flag: theirs is two.)
size_t PrefixSize(const llvm::Function& function) {
  return std::max<size_t>(abi::kEntryPrefixSize, function.getAlign().valueOrOne().value());
}

}  // namespace

bool MakeEntryPatchable(llvm::Function& function, bool stores_at_entry) {
  if (function.hasPrefixData() || function.hasFnAttribute("patchable-function-prefix")) return false;
  const bool jump_table = !stores_at_entry && MayHaveJumpTable(function);
  std::vector<uint8_t> prefix(PrefixSize(function), kTrap);
  uint8_t* at = prefix.data() + prefix.size() - abi::kEntryPrefixSize;
  at = std::copy(std::begin(abi::kEntryPrefix), std::end(abi::kEntryPrefix), at);
  *at = jump_table ? abi::kMayHaveJumpTable : 0;
  function.setPrefixData(llvm::ConstantDataArray::get(function.getContext(), prefix));
  if (jump_table && !function.hasFnAttribute("patchable-function"))
    function.addFnAttr("patchable-function", "prologue-short-redirect");
  return true;
}

}  // namespace recrash::pass
