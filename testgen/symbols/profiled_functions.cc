#include "testgen/symbols/profiled_functions.h"

#include <algorithm>
#include <array>

#include "shadowstack/abi.h"

namespace recrash {
namespace {

bool HasPatchableEntry(ModuleSet& modules, TargetAddress entry) {
  std::array<uint8_t, sizeof abi::kEntryPrefix> prefix;
  return modules.ReadFile(entry - abi::kEntryPrefixSize, prefix) && std::ranges::equal(prefix, abi::kEntryPrefix);
}

}  // namespace

Profile FunctionsToWatch(const Backtrace& backtrace, const Symbols& symbols) {
  ModuleSet& modules = symbols.modules();
  Profile profile;
  for (const Frame& frame : backtrace.frames) {
    const Module* module = FindModule(modules.modules(), frame.entry);
    if (frame.inlined || frame.entry.value == 0 || module == nullptr) continue;
    if (!frame.monitored && !HasPatchableEntry(modules, frame.entry)) continue;
    const bool plain = std::ranges::all_of(frame.linkage_name, [](char c) { return c > ' ' && c != 0x7f; });
    Profile one;
    one.functions.push_back(
        {module->build_id, frame.entry.value - module->bias, plain ? frame.linkage_name : "", {}, {}});
    MergeProfile(one, &profile);  // a recursion's function is one
  }
  return profile;
}

}  // namespace recrash
