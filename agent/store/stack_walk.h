// The stack of a failure as far as it can be walked where the program ran: by the call frame information of the
// modules' own files, without symbols.
//
//   for (const WalkedFrame& frame : WalkStack(report, 16).frames) ... frame.module->build_id, frame.address
#ifndef RECRASH_AGENT_STORE_STACK_WALK_H_
#define RECRASH_AGENT_STORE_STACK_WALK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

using ReadStackWord = std::function<std::optional<uint64_t>(TargetAddress address)>;

struct WalkedFrame {
  const Module* module = nullptr;
  uint64_t address = 0;  // as the module's file has it: the same wherever it is loaded
  bool operator==(const WalkedFrame&) const = default;
};

struct WalkedStack {
  std::vector<WalkedFrame> frames;  // innermost first; they point into the report
  bool is_whole = false;            // up to the outermost frame, or to as many as were asked for
};

// Of the failing thread; of an exception, from where it was thrown. Each place is given once, however deep a recursion
// is, and at most `most` are. The walk ends where memory is missing from the report, and `elsewhere` has none, or where
// a module's file is not that of the crash any more.
WalkedStack WalkStack(const Report& report, size_t most, const ReadStackWord& elsewhere = {});

}  // namespace recrash

#endif  // RECRASH_AGENT_STORE_STACK_WALK_H_
