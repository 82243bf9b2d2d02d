// The fields that a function uses through a pointer argument, for copying into the record (depth 1).
#ifndef RECRASH_SHADOWSTACK_PASS_USED_FIELDS_H_
#define RECRASH_SHADOWSTACK_PASS_USED_FIELDS_H_

#include <cstdint>
#include <vector>

#include "llvm/IR/Function.h"
#include "shadowstack/pass/source_parameters.h"

namespace recrash::pass {

struct Field {
  uint32_t offset = 0;                        // in what the argument points to
  uint32_t size = 0;                          // 1, 2, 4, 8 or 16
  const llvm::Instruction* access = nullptr;  // the function's own, for the copy's place in the source
};

// Empty where a copy is not needed (nothing writes through the argument: the bytes are read at the crash) or not safe.
std::vector<Field> FindUsedFields(const llvm::Argument& argument, const SourceParameter& parameter);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_USED_FIELDS_H_
