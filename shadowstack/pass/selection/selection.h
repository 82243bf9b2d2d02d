// Decides which functions get a record, or an entry that can be patched. Annotations in the source win over lists,
// lists over defaults. A function that cannot have a record gets none, whatever is asked.
#ifndef RECRASH_SHADOWSTACK_PASS_SELECTION_SELECTION_H_
#define RECRASH_SHADOWSTACK_PASS_SELECTION_SELECTION_H_

#include <cstdint>
#include <string>

#include "llvm/IR/Function.h"
#include "shadowstack/pass/selection/options.h"
#include "shadowstack/pass/selection/wish.h"

namespace recrash::pass {

enum class Reason {
  kCanFail,          // monitored by default
  kAlways,           // asked for
  kNever,            // asked not to be
  kCannotFail,       // no live frame of it can be part of a failure
  kStandardLibrary,  // namespace std, which frames of the program surround
  kNoArguments,      // nothing to keep
  kUsesNoArgument,
  kConvention,    // it does not take its arguments as C does
  kNaked,         // its frame is not the compiler's
  kNotSplit,      // a coroutine whose frame is still to be made
  kMovedLocals,   // a sanitizer would move the record
  kCompilerMade,  // thunks, static initialisers and the like
  kNoPrefix,      // it has bytes of its own before its entry
};

const char* ReasonText(Reason reason);

struct Choice {
  bool monitored = false;
  Reason reason = Reason::kCanFail;
  std::string by;             // kAlways, kNever: who asks
  int depth = 0;              // of its copies; 0 in every mode but full
  uint32_t record_bytes = 0;  // set when the record has been made
};

// Requires that the function has a body that goes into this object.
Choice Choose(const llvm::Function& function, const Options& options, const Wish& wish);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SELECTION_SELECTION_H_
