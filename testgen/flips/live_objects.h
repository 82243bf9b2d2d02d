// Which live object of the dead process an address leads to, and where that begins and ends.
//
//   LiveObjects objects(report, symbols);
//   if (const auto object = objects.At(address)) ... object->end
#ifndef RECRASH_TESTGEN_FLIPS_LIVE_OBJECTS_H_
#define RECRASH_TESTGEN_FLIPS_LIVE_OBJECTS_H_

#include <cstdint>
#include <optional>

#include "agent/report/report.h"
#include "testgen/symbols/files/report_memory.h"
#include "testgen/symbols/symbols.h"
#include "testgen/symbols/values/address_kind.h"
#include "testgen/symbols/values/heap.h"

namespace recrash {

struct LiveObject {
  uint64_t start = 0;
  uint64_t end = 0;
  bool is_known = true;  // false: memory that the program uses, of which nothing tells objects

  bool Holds(uint64_t address) const { return address >= start && address < end; }
};

// REQUIRES: report and symbols outlive it.
class LiveObjects {
 public:
  LiveObjects(const Report& report, const Symbols& symbols)
      : report_(report),
        modules_(symbols.modules()),
        memory_(report, &modules_),
        heap_(memory_),
        addresses_(memory_, modules_) {}

  // A heap block that is not freed, a variable or constant of a module, the live part of a stack.
  std::optional<LiveObject> At(uint64_t address);
  // The function that begins there.
  std::optional<LiveObject> FunctionAt(uint64_t address);
  // A mapping that may be read, written or executed holds the address.
  bool IsUsable(uint64_t address) const;
  bool IsCode(uint64_t address) const;  // one that may be executed
  const ReportMemory& memory() const { return memory_; }

 private:
  std::optional<LiveObject> InModule(const Module& module, const Mapping& mapping, uint64_t address);
  uint64_t SpIn(const Mapping& stack) const;
  std::optional<LiveObject> MappedBlock(const Mapping& mapping, uint64_t address) const;

  const Report& report_;
  ModuleSet& modules_;
  ReportMemory memory_;
  GlibcHeap heap_;
  AddressReader addresses_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_FLIPS_LIVE_OBJECTS_H_
