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

// Why a function is monitored, or is not: the words of the report.
using Reason = const char*;
constexpr Reason kCanFail = "can fail";  // monitored by default
constexpr Reason kAlways = "always";     // asked for
constexpr Reason kNever = "never";       // asked not to be
constexpr Reason kCannotFail = "calls nothing and cannot fault";
constexpr Reason kStandardLibrary = "namespace std";  // which frames of the program surround
constexpr Reason kNoArguments = "has no arguments";
constexpr Reason kUsesNoArgument = "uses none of its arguments";
constexpr Reason kConvention = "calling convention";  // it does not take its arguments as C does
constexpr Reason kNaked = "naked";                    // its frame is not the compiler's
constexpr Reason kNotSplit = "coroutine that is not split yet";
constexpr Reason kMovedLocals = "a sanitizer moves its locals";  // and would move the record
constexpr Reason kCompilerMade = "made by the compiler";         // thunks, static initialisers and the like
constexpr Reason kNoPrefix = "has a prefix of its own";          // bytes before its entry

struct Choice {
  bool monitored = false;
  Reason reason = kCanFail;
  std::string by;             // kAlways, kNever: who asks
  int depth = 0;              // of its copies; 0 in every mode but full
  uint32_t record_bytes = 0;  // set when the record has been made
};

// Requires that the function has a body that goes into this object.
Choice Choose(const llvm::Function& function, const Options& options, const Wish& wish);

}  // namespace recrash::pass

#endif  // RECRASH_SHADOWSTACK_PASS_SELECTION_SELECTION_H_
