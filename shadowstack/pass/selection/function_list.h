// The lists of -recrash-list=FILE, in the format of the sanitizers' special case lists
// (llvm/Support/SpecialCaseList.h):
//
//   fun:PATTERN[=WISH]    the mangled name, or the demangled one with or without its parameters
//   src:PATTERN[=WISH]    the source file, as the compiler was given it or in full
//   type:PATTERN[=WISH]   the class that it is a method of; namespaces count as classes
//
// WISH is never (also when there is none), always or depth=N. Of the lines that match a function the last one decides,
// for monitored or not and for the depth separately.
#ifndef RECRASH_SHADOWSTACK_PASS_SELECTION_FUNCTION_LIST_H_
#define RECRASH_SHADOWSTACK_PASS_SELECTION_FUNCTION_LIST_H_

#include <memory>
#include <string>
#include <vector>

#include "llvm/IR/Function.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SpecialCaseList.h"
#include "shadowstack/pass/selection/wish.h"

namespace recrash::pass {

class FunctionList {
 public:
  // Reads the files in order. An error names file and line.
  static llvm::Expected<FunctionList> Read(const std::vector<std::string>& paths);

  Wish WishFor(const llvm::Function& function) const;

 private:
  // One line, as a list of its own: LLVM 19 keeps no order among the patterns of one list.
  struct Entry {
    std::unique_ptr<llvm::SpecialCaseList> pattern;
    std::string kind;
    std::string category;  // as written; the list wants it again
    Wish wish;
  };

  llvm::Error Add(llvm::StringRef path, llvm::StringRef text);

  std::vector<Entry> entries_;
};

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SELECTION_FUNCTION_LIST_H_
