// Where a function finds each of its IR arguments at its first instruction: the System V x86-64 convention as LLVM's
// backend applies it to IR types (CC_X86_64_C), not as the C ABI describes it for source types.
#ifndef RECRASH_SHADOWSTACK_PASS_ARGUMENT_LOCATIONS_H_
#define RECRASH_SHADOWSTACK_PASS_ARGUMENT_LOCATIONS_H_

#include <cstdint>
#include <vector>

#include "llvm/IR/Function.h"
#include "shadowstack/abi.h"

namespace recrash::pass {

// One register or stack slot's worth of an argument.
struct Piece {
  uint32_t offset = 0;  // in the argument
  uint32_t size = 0;    // bytes
  abi::Location location = abi::Location::kUnknown;
  uint32_t stack_offset = 0;
};

using Pieces = std::vector<Piece>;

// Returns one entry for each argument, in order. An argument that is passed in a way unknown here has one piece with
// location kUnknown; so do later ones whose place depends on it.
std::vector<Pieces> AssignArgumentLocations(const llvm::Function& function);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_ARGUMENT_LOCATIONS_H_
