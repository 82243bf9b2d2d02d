// Writes what was decided for each function of a module (-recrash-report): one line each, columns separated by tabs.
#ifndef RECRASH_SHADOWSTACK_PASS_SELECTION_BUILD_REPORT_H_
#define RECRASH_SHADOWSTACK_PASS_SELECTION_BUILD_REPORT_H_

#include <string>

#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "shadowstack/pass/selection/options.h"
#include "shadowstack/pass/selection/selection.h"

namespace recrash::pass {

// Returns the file that `options.report` means for the module. For a folder, which is created, that is
// MODULE.recrash.txt in it, so that each object of a build has its own. "-" and "" stay.
llvm::Expected<std::string> ReportPath(const llvm::Module& module, const Options& options);

class BuildReport {
 public:
  void Add(const llvm::Function& function, const Choice& choice);

  // To a file or to "-", standard error.
  llvm::Error Write(llvm::StringRef path, llvm::StringRef title) const;

 private:
  std::string lines_;
  unsigned monitored_ = 0;
  unsigned functions_ = 0;
};

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SELECTION_BUILD_REPORT_H_
