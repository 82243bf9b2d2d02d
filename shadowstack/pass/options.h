// What the build asks of the pass, read from the command line (`-mllvm -recrash-…`).
#ifndef RECRASH_SHADOWSTACK_PASS_OPTIONS_H_
#define RECRASH_SHADOWSTACK_PASS_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace recrash::pass {

enum class Mode {
  kReferences,                 // the argument words themselves
  kFull,                       // and copies of the fields that the function uses through them
  kSecondChance,               // nothing; but entries can be patched
  kReferencesAndSecondChance,  // the argument words, and entries can be patched
  kAdaptive,                   // the same, and the agent watches all of them from the start
};

enum class Step { kCompile, kLink };

struct Options {
  Mode mode = Mode::kReferences;
  int depth = 1;                   // kFull: 0 switches the copies off, 1 follows a parameter once, 2 twice
  std::string version;             // the identifier that the build gives itself
  bool std_functions = false;      // instrument std:: and the C++ runtime's templates as well
  std::vector<std::string> lists;  // files that say which functions
  Step lto = Step::kCompile;       // where records are made under link-time optimisation
  std::string report;  // where to say which they were: a file, a folder, "-" for standard error; empty: nowhere
};

llvm::Expected<Options> OptionsFromCommandLine();

// As the command line spells it: "references+second-chance".
const char* ModeName(Mode mode);
std::optional<Mode> ModeNamed(llvm::StringRef name);
bool KeepsArguments(Mode mode);
bool HasPatchableEntries(Mode mode);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_OPTIONS_H_
