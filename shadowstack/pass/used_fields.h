// Finds the fields that a function uses through a pointer argument (depth 1), and those that it uses through such a
// field (depth 2), to copy them into the record.
#ifndef RECRASH_SHADOWSTACK_PASS_USED_FIELDS_H_
#define RECRASH_SHADOWSTACK_PASS_USED_FIELDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "shadowstack/pass/source_parameters.h"
#include "shadowstack/pass/write_effects.h"

namespace recrash::pass {

struct Field {
  uint32_t offset = 0;                        // in what the argument, or the pointer at `via`, points to
  uint32_t size = 0;                          // 1, 2, 4, 8 or 16
  const llvm::Instruction* access = nullptr;  // the function's own, for the copy's place in the source
  // The function's own load of the field, if it certainly runs before anything is written: then it can move to the
  // copy's place, or give the copy its value.
  llvm::LoadInst* load = nullptr;
  std::optional<uint32_t> via = std::nullopt;  // depth 2: where the pointer lies; it is among the fields, too
};

// Empty if a copy is not safe, or not needed: neither the function nor its callees write the bytes, so they can be read
// at the crash.
std::vector<Field> FindUsedFields(llvm::Argument& argument, const SourceParameter& parameter, int depth,
                                  WriteEffects& effects);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_USED_FIELDS_H_
