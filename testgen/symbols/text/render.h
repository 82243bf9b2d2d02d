// Writes a value of the failed process for people: `Tree {root_ = nullptr, size_ = 3}`, `"abc"`, `kLeaf`, `3`.
//
//   Renderer renderer(memory, modules);
//   parameter.shown = renderer.Parameter(debug, type, parameter.bytes);
//
// The value may be anything: a freed object, a cycle, a length of 2^60. The renderer reads only memory that was kept,
// and shows a value as deep as there is room for.
#ifndef RECRASH_TESTGEN_SYMBOLS_TEXT_RENDER_H_
#define RECRASH_TESTGEN_SYMBOLS_TEXT_RENDER_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/files/report_memory.h"
#include "testgen/symbols/text/value_builder.h"
#include "testgen/symbols/values/address_kind.h"

namespace recrash {

struct RenderedValue {
  std::string line;                 // at most about 120 characters
  std::vector<std::string> lines;   // empty if `line` has all that there is to see
  bool reaches_dead_stack = false;  // as ValueBuilder has it
};

class Renderer {
 public:
  Renderer(const ReportMemory& memory, ModuleSet& modules)
      : memory_(memory), modules_(modules), addresses_(memory, modules) {}

  // The values that follow are of a frame with this stack pointer at its entry; 0: not known.
  void EnterFrame(TargetAddress entry_sp) {
    entry_sp_ = entry_sp;
    addresses_.LiveFrom(entry_sp);
  }

  // Returns a parameter's value. A pointer or reference to a class shows the object.
  RenderedValue Parameter(DebugInfo& debug, Dwarf_Die type, std::span<const uint8_t> bytes);
  // Returns the object at `address`: the value of a parameter that the ABI passes by a pointer to a copy.
  RenderedValue ObjectAt(DebugInfo& debug, Dwarf_Die type, TargetAddress address);

  // Mutexes that were locked, of all objects that were shown.
  const std::vector<HeldMutex>& held_mutexes() const { return held_; }

 private:
  // As deep as there is room for: `build` makes the value down to a level.
  RenderedValue Deepest(DebugInfo& debug, const std::function<Shown(ValueBuilder&)>& build);

  const ReportMemory& memory_;
  ModuleSet& modules_;
  AddressReader addresses_;
  std::vector<HeldMutex> held_;
  TargetAddress entry_sp_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_TEXT_RENDER_H_
