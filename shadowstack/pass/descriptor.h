// One descriptor of the map as assembler text (layout: shadowstack/abi.h).
#ifndef RECRASH_SHADOWSTACK_PASS_DESCRIPTOR_H_
#define RECRASH_SHADOWSTACK_PASS_DESCRIPTOR_H_

#include <string>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "shadowstack/abi.h"

namespace recrash::pass {

// Returns inline assembly without instructions; its operand $0 is the record, if there is one.
std::string DescriptorAssembly(llvm::StringRef linkage_name, llvm::ArrayRef<abi::MapWord> words, bool has_record);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_DESCRIPTOR_H_
