#include "testgen/symbols/profiled_functions.h"

#include "agent/base/text.h"

namespace recrash {

Profile FunctionsToWatch(const Backtrace& backtrace, const Symbols& symbols) {
  Profile profile;
  for (const Frame& frame : backtrace.frames) {
    const LoadedModule* module = symbols.modules().Find(frame.entry);
    if (frame.inlined || frame.entry.value == 0 || module == nullptr) continue;
    const uint64_t entry = frame.entry.value - module->bias();
    if (!frame.monitored && !module->image->IsPatchable(entry)) continue;
    Profile one;
    one.functions.push_back(
        {module->module->build_id, entry, IsWord(frame.linkage_name) ? frame.linkage_name : "", {}, {}});
    MergeProfile(one, &profile);  // a recursion's function is one
  }
  return profile;
}

}  // namespace recrash
