// The functions of the program's own on a stack, as the source has them: inlined calls among them, and functions that
// ended in a call of another one, which leave no frame of their own where that call became a jump.
//
//   SourceChainReader chain(symbols);
//   for (const UnwoundFrame& frame : stack) chain.Add(frame.pc, frame.exact);
//   report.place.chain = chain.functions();
#ifndef RECRASH_TESTGEN_SYMBOLS_SOURCE_CHAIN_H_
#define RECRASH_TESTGEN_SYMBOLS_SOURCE_CHAIN_H_

#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/stack/code_info.h"

namespace recrash {

// Returns whether the function is of the C++ library, though compiled into the program. `function` is as SourceName
// gives it.
bool IsLibraryFunction(const std::string& function);

// "Parser::Next at parser.cc:86"
std::string WhereIn(const LiveFunction& function);

class SourceChainReader {
 public:
  explicit SourceChainReader(CodeReader& code) : code_(code) {}

  // The next outer frame, begun with the innermost. `pc` is a return address unless it is exact.
  void Add(TargetAddress pc, bool exact);
  // The outermost function, by an address in it: it was called, though it may have no frame.
  void AddCalled(TargetAddress function);

  bool is_full() const;
  // Innermost first; at most some dozens.
  const std::vector<SourceFrame>& functions() const { return functions_; }
  // "Parser::Next at parser.cc:86", of the innermost.
  const std::string& where() const { return where_; }
  // How many frames inside the innermost one are of none of the program's own.
  size_t outside() const { return outside_count_; }
  // Whether each module of the program's own had debug information.
  bool has_debug() const { return has_debug_; }

 private:
  void AddLive(const CodeInfo& code);
  // The function at `entry` was called. The frame inside is that of `inner`, or of none of the program's own if that is
  // 0.
  void AddWithoutFrame(TargetAddress entry, TargetAddress inner, int depth);
  // A library called what it was given, and came to another function of a library. The program has one function alone
  // that ends in a jump there: that one was called.
  void AddCallback(const CodeInfo& inner);

  CodeReader& code_;
  std::vector<SourceFrame> functions_;
  std::string where_;
  bool has_debug_ = true;
  size_t outside_count_ = 0;
  const CodeInfo* outside_ = nullptr;  // the frame that was added last, if it is of a library
  TargetAddress inner_entry_;          // of the function whose frame was added last; 0: of none of the program's own
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_SOURCE_CHAIN_H_
