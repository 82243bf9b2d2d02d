// In which order the loader of the dead process had loaded its modules: it numbers their thread-local blocks so.
//
//   const std::vector<uint32_t> order = LoadOrder(report, FindDebuggersList(report));
//   // report.modules[order[0]] is the program
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_LOAD_ORDER_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_LOAD_ORDER_H_

#include <cstdint>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

// Returns the recorded address of the loader's `_r_debug`, the list of modules that it keeps for debuggers; 0: not
// found.
TargetAddress FindDebuggersList(const Report& report);

// Returns the addresses of the list's entries; none where recorded memory does not have all of it.
std::vector<TargetAddress> LinkMaps(const Report& report, TargetAddress list);

// Returns the indexes of the modules in the list; none where recorded memory does not have all of it.
std::vector<uint32_t> LoadOrder(const Report& report, TargetAddress list);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_LOAD_ORDER_H_
