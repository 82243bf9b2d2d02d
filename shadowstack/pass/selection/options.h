// What the build asks of the pass, read from the command line (`-mllvm -recrash-…`).
#ifndef RECRASH_SHADOWSTACK_PASS_SELECTION_OPTIONS_H_
#define RECRASH_SHADOWSTACK_PASS_SELECTION_OPTIONS_H_

#include <string>
#include <vector>

#include "llvm/Support/Error.h"
#include "shadowstack/modes.h"

namespace recrash::pass {

using abi::Mode;

enum class Step { kCompile, kLink };

struct Options {
  Mode mode = Mode::kReferences;
  int depth = 1;                   // kFull: 0 switches the copies off, 1 follows a parameter once, 2 twice
  std::string version;             // the identifier that the build gives itself
  bool std_functions = false;      // instrument std:: and the C++ runtime's templates as well
  std::vector<std::string> lists;  // files that say which functions
  Step lto = Step::kCompile;       // where records are made under link-time optimisation
  std::string report;  // where to write what was decided: a file, a folder, "-" for standard error; empty: nowhere
};

llvm::Expected<Options> OptionsFromCommandLine();

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SELECTION_OPTIONS_H_
