// A report as a plan (plan.h) in an anonymous file.
//
//   const Result<Fd> plan = BuildPlan(report, subject.program, subject.rebuilt_libraries, options);
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_PLAN_BUILDER_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_PLAN_BUILDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/replay/plan/plan.h"
#include "testgen/replay/plan/plan_file.h"
#include "testgen/replay/plan/program_file.h"

namespace recrash {

// What is called in place of a function that is gone.
struct Successor {
  uint64_t offset = 0;  // in the file, from the module's base
  std::string name;     // in the source
  std::string added;    // its parameters that nothing was recorded for, which are 0: "`a`, `b`"
};

// The parameters of a frame's function in another build, as many as the report's, and the types they lead to.
struct BuiltParameters {
  std::shared_ptr<const std::vector<TypeLayout>> types;
  std::vector<ReplayParameter> parameters;
};

struct PlanOptions {
  std::string test_library;
  std::string report_path;  // for messages
  uint32_t flags = 0;       // plan::Flags; kRebuilt and kStackOverflow are found here
  double seconds_per_frame = 10;
  uint64_t memory_limit = 4ull << 30;
  int queue_fd = -1;                   // of plan::kVerify
  uint32_t workers = 1;                // of plan::kVerify: replays at a time
  int inquiries_fd = -1;               // of plan::Inquiries
  std::vector<std::string> to_load;    // for each module the file that the subject loads; empty: none
  std::vector<size_t> changed_inputs;  // indexes of inputs that are not held, and are not there as they were
  std::vector<plan::Range> watched;    // of plan::kVerify: pages of which replays note whether they touch them
  // By ReplayFrame::index: contents of variables that lie otherwise in this build, by their recorded addresses.
  std::map<uint32_t, std::vector<std::pair<uint64_t, std::vector<uint8_t>>>> variables;
  std::map<uint32_t, std::string> problems;  // by ReplayFrame::index: why a frame is not called
  std::map<uint32_t, BuiltParameters> parameters;
  std::map<uint32_t, Successor> successors;
  std::map<uint32_t, std::vector<std::string>> candidates;  // what may have become of a function that is gone
  // By ReplayFrame::index: where functions begin that this build alone has local to their file.
  std::map<uint32_t, uint64_t> made_local;
  std::set<uint32_t> changed_calls;  // by ReplayFrame::index: this build may pass its arguments in another way
  std::set<uint32_t> inlined;        // by ReplayFrame::index: this build has inlined the function everywhere
  bool trust_report = false;         // what could be executed in the recorded memory can be executed again
};

// Returns the plan for a subject of `program`, with those of its libraries that were rebuilt since the crash. The file
// is inherited over exec. Fails if the report does not say which module is the program, or if there is no room.
Result<Fd> BuildPlan(const TestReport& report, const ProgramFile& program, const std::vector<RebuiltLibrary>& libraries,
                     const PlanOptions& options);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_PLAN_BUILDER_H_
