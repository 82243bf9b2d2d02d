// Finds the source parameter that an IR argument, or a piece of one, came from.
#ifndef RECRASH_SHADOWSTACK_PASS_SOURCE_PARAMETERS_H_
#define RECRASH_SHADOWSTACK_PASS_SOURCE_PARAMETERS_H_

#include <cstdint>
#include <vector>

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"

namespace recrash::pass {

struct SourceParameter {
  uint8_t number = 0;                  // DWARF's, from 1; 0 when not known
  uint16_t offset = 0;                 // where the argument's first byte lies in the parameter
  bool indirect = false;               // the argument is the address of the parameter (a non-trivial class by value)
  const llvm::DIType* type = nullptr;  // of the parameter, when there is debug information
};

// Returns one entry for each argument, in order.
std::vector<SourceParameter> MapToSource(const llvm::Function& function);

// True when the parameter is a pointer or reference to const, as written in the source.
bool PointsToConst(const SourceParameter& parameter);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SOURCE_PARAMETERS_H_
