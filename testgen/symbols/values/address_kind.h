// Says what an address is, in one clause, from the report alone: "in a freed block of 24 bytes", "a vtable of Circle".
//
//   AddressReader addresses(memory, modules);
//   const AddressKind kind = addresses.KindOf(address);
//   if (kind.is_bad()) text += ", " + kind.clause;
//
// Only what is certain is said. The clause is empty where nothing is. Text in it comes from the report and is not
// escaped, but for bytes that are shown as text.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_ADDRESS_KIND_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_ADDRESS_KIND_H_

#include <optional>
#include <string>

#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/files/report_memory.h"
#include "testgen/symbols/values/heap.h"

namespace recrash {

struct AddressKind {
  enum Kind {
    kUnknown,
    kNearNull,      // in the first page
    kNotCanonical,  // the processor has no such address
    kNotMapped,
    kFreedBlock,
    kPastBlock,   // behind a block's end
    kUnusedHeap,  // of which no block has been cut
    kDeadStack,   // below the live part of a thread's stack
    kLiveStack,
    kBlock,  // of the heap; it may have been freed
    kLiveBlock,
    kCode,
    kVtable,
    kData,  // of a module
  };
  Kind kind = kUnknown;
  std::string clause;

  // Nothing that lives in a correct program lies there.
  bool is_bad() const { return kind >= kNearNull && kind <= kDeadStack; }
};

class AddressReader {
 public:
  AddressReader(const ReportMemory& memory, ModuleSet& modules)
      : report_(memory.report()), modules_(modules), heap_(memory) {}
  AddressKind KindOf(TargetAddress address);
  // The failing thread's stack is live from `sp` on, if that is lower than at the failure: a call may be put below it.
  void LiveFrom(TargetAddress sp) { live_from_ = sp; }

 private:
  std::optional<AddressKind> InModule(TargetAddress address);
  std::optional<AddressKind> OnStack(TargetAddress address) const;
  std::optional<AddressKind> OnHeap(TargetAddress address);

  const Report& report_;
  ModuleSet& modules_;
  GlibcHeap heap_;
  TargetAddress live_from_;  // 0: as at the failure
};

// Returns the bytes of `value` as quoted text if they are text: at least five printable characters, then zeros only.
// What was copied beyond the end of an array often makes such an address.
std::optional<std::string> TextInAddress(uint64_t value);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_ADDRESS_KIND_H_
