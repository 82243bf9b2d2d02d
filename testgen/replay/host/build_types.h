// Types of the build that is replayed, against those that the report has of the build that crashed.
//
//   const BuildTypes types = FitToBuild(report, *subject, search_paths);
//   plan_options.problems = types.problems;
//   BuildPlan(types.report(report), ...);
//
// A class whose layout is another one now would be read wrongly in recorded memory. Its objects are carried over, as
// far as types lead to them (carried_report.h).
#ifndef RECRASH_TESTGEN_REPLAY_HOST_BUILD_TYPES_H_
#define RECRASH_TESTGEN_REPLAY_HOST_BUILD_TYPES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/report/report.h"
#include "testgen/replay/host/subject.h"
#include "testgen/replay/plan/plan_builder.h"

namespace recrash {

struct BuildTypes {
  std::map<uint32_t, std::string> problems;        // by ReplayFrame::index: why its memory does not fit this build
  std::set<std::string> notes;                     // one sentence each
  std::map<uint32_t, BuiltParameters> parameters;  // as in PlanOptions, as all maps that follow
  std::map<uint32_t, Successor> successors;
  std::map<uint32_t, std::vector<std::string>> candidates;
  std::map<uint32_t, uint64_t> made_local;
  std::set<uint32_t> changed_calls;
  std::set<uint32_t> inlined;
  std::map<uint32_t, std::vector<std::pair<uint64_t, std::vector<uint8_t>>>> variables;
  std::shared_ptr<const TestReport> carried;  // null: the report as it is
  const TestReport& report(const TestReport& original) const { return carried ? *carried : original; }
  // Puts what it has into the options, by which it is empty.
  void MoveTo(PlanOptions* options);
};

// Reads debug information only of modules that are other builds now.
BuildTypes FitToBuild(const TestReport& report, const Subject& subject, const std::vector<std::string>& search_paths);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_BUILD_TYPES_H_
