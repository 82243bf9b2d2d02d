// Follows one bad value backwards, through a replayed past, and notes a link wherever it changes hands.
#ifndef RECRASH_TESTGEN_EXPLAIN_TRAIL_H_
#define RECRASH_TESTGEN_EXPLAIN_TRAIL_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "agent/report/report.h"
#include "testgen/explain/calls.h"
#include "testgen/explain/explanation.h"
#include "testgen/explain/places.h"
#include "testgen/symbols/files/report_memory.h"
#include "testgen/symbols/values/address_kind.h"
#include "testgen/symbols/values/heap.h"

namespace recrash::explain {

// A value at a moment: in a register or in memory, before a step of a call's trace runs.
struct TracedValue {
  CallPtr call;
  size_t step = 0;
  uint8_t reg = kNone;   // kNone: it lies in memory
  uint32_t offset = 0;   // in a vector register
  uint64_t address = 0;  // in memory
  uint32_t size = 8;
  uint8_t through = kNone;  // in memory: the register that its address was taken from, at this step
};

class Trail {
 public:
  // `memory`: the replay's at the failure.
  Trail(const Failure& failure, const Report& memory, const Symbols& symbols, SourceOf* source, Calls* calls,
        size_t most_links, std::chrono::steady_clock::time_point deadline)
      : failure_(failure),
        memory_(memory, &symbols.modules()),
        heap_(memory_),
        addresses_(memory_, symbols.modules()),
        source_(*source),
        calls_(*calls),
        most_links_(most_links),
        deadline_(deadline) {}

  // From the failure on; `failing` is the innermost call of the program's own.
  void Begin(const CallPtr& failing);
  std::vector<Link>& links() { return links_; }

  // What can be undone, to see whether the failure goes.
  struct Experiment {
    CallPtr call;
    size_t step = 0;
    uint64_t to = 0;  // it goes on there in place of running the step; 0: it runs a call with another result
    std::optional<uint64_t> result = {};  // what it returned
  };
  const std::vector<Experiment>& experiments() const { return experiments_; }

 private:
  using Next = std::optional<TracedValue>;

  void Follow(TracedValue value, uint32_t depth);
  // One step back. Nothing: the trail has come to its end.
  Next BackFrom(const TracedValue& value, uint32_t depth);
  Next BackFromRegister(const TracedValue& value, uint32_t depth);
  Next BackFromMemory(const TracedValue& value, uint32_t depth);
  Next WrittenBefore(const TracedValue& value, uint32_t depth);
  Next NeverWritten(const TracedValue& value, uint32_t depth);
  // Nothing that lives lies there: what matters is where the address came from.
  bool IsNoPlace(const TracedValue& value, uint32_t depth);
  Next FromPointer(const TracedValue& value) const;
  // What lies in the stack was written by a call that has returned since: where it lies is dead, or not initialised.
  bool IsLeftOver(const TracedValue& value, const Calls::Writer& writer) const;
  Next LeftOver(const TracedValue& value, const Calls::Writer& writer, uint32_t depth);
  void AddFrees(const Calls::Writer& writer, const std::string& text, uint32_t depth);
  // The block in which the value lies was freed since its pointer was made. Then the links of the pointer are added.
  bool IsReused(const TracedValue& value, uint32_t depth);
  // The call that freed the block in which the value lies.
  void AddFree(const TracedValue& value, uint32_t depth);
  Next Lost(const CallPtr& call, size_t step, const std::string& why, uint32_t depth);
  Next Argument(const TracedValue& value, uint32_t depth);
  Next Returned(const TracedValue& value, size_t step, uint32_t depth);
  Next Compared(const std::string& function, const TracedValue& value, size_t step, uint32_t depth);
  Next CopiedBy(const std::string& function, const TracedValue& value, const Calls::Writer& writer, uint32_t depth);
  // The instruction at the step made the value.
  Next MadeBy(const TracedValue& value, size_t step, uint32_t depth);
  Next FromOperand(const TracedValue& value, size_t step, const CodeOperand& operand, uint32_t depth);
  Next Computed(const TracedValue& value, size_t step, uint32_t depth);
  Next Chosen(const TracedValue& value, size_t step, uint32_t depth);
  Next FromAddress(const TracedValue& value, size_t step, uint32_t depth);
  Next Constant(const CallPtr& call, size_t step, uint64_t constant, uint32_t depth);

  // A register that has an address of something.
  bool IsGoodAddress(const TracedValue& value) const;
  bool IsChosenObject(const TracedValue& value, uint32_t depth) const;
  // As Control; gives nothing.
  Next Why(const CallPtr& call, size_t step, uint32_t depth);
  // What decided that the step was reached.
  void Control(CallPtr call, size_t step, uint32_t depth);
  bool DecidedIn(const CallPtr& call, size_t step, uint32_t depth);
  void ByFlags(const CallPtr& call, size_t step, uint32_t depth);
  // The register of a bad address that made it bad.
  Next WorseOf(const CallPtr& call, size_t step, const CodeOperand& memory) const;
  std::pair<CallPtr, size_t> InnermostOwn(CallPtr call);
  void FromFault(const CallPtr& failing, size_t last);
  void FromLibrary(const CallPtr& failing, size_t last);

  // Notes a link at the step of the call, or where the program's own code called that.
  void Add(LinkKind kind, const CallPtr& call, size_t step, const std::string& text, uint32_t depth);
  // The link that was added last can be undone so.
  void AddExperiment(const Experiment& experiment);
  void AddAt(LinkKind kind, uint64_t pc, const std::string& text, uint32_t depth);
  void AddOnStack(LinkKind kind, const std::vector<StackCall>& stack, const std::string& text, uint32_t depth);
  bool IsMapped(uint64_t address) const { return memory_.report().FindMapping(TargetAddress{address}) != nullptr; }
  bool is_full() const;

  const Failure& failure_;
  ReportMemory memory_;
  GlibcHeap heap_;
  AddressReader addresses_;
  SourceOf& source_;
  Calls& calls_;
  size_t most_links_;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<Link> links_;
  std::vector<Experiment> experiments_;
  std::set<std::tuple<const Call*, size_t, uint8_t, uint64_t>> seen_;
  std::optional<std::pair<CallPtr, size_t>> allocation_;  // the step that the value followed last came from
  int reuse_checks_ = 0;
  bool only_value_ = false;  // not what else it was made of, and not what decided
  std::set<CallPtr> kept_;   // so that addresses in seen_ stay theirs
};

}  // namespace recrash::explain

#endif  // RECRASH_TESTGEN_EXPLAIN_TRAIL_H_
