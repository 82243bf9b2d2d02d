// Finds what a function of the build that crashed is in this build, where its name is gone: renamed, moved into another
// namespace, or with parameters added at its end.
//
//   Successors successors(report, image, file, built);
//   if (const Sought sought = successors.Find(frame); sought.found) Call(*sought.found);
//
// A test that calls the wrong function would pass though the bug is there. So a function is a successor only if
//
// - the build that crashed did not have it, not even inlined;
// - it is declared in a source file of the same name, in the same scope or under the same last name;
// - its parameters are those that were recorded, by their types; those that were added are numbers;
// - it is called by the function that called the recorded one, and calls the function that the recorded one called; of
//   a function of the same last name one of both will do, if this build has the other function nowhere;
// - there is no other like it, and no other function that is gone has the same parameters and could have become it.
//
// Compilers number lambdas in ways of their own. A function of a lambda is known by the closures that it is given: each
// has to have the same place among those of the function around it, by debug information.
#ifndef RECRASH_TESTGEN_REPLAY_HOST_SUCCESSORS_H_
#define RECRASH_TESTGEN_REPLAY_HOST_SUCCESSORS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/replay/host/built_file.h"
#include "testgen/replay/plan/plan_builder.h"
#include "testgen/symbols/stack/handlers.h"

namespace recrash {

struct Sought {
  std::optional<Successor> found;
  std::vector<std::string> candidates;  // names of what it may be, if nothing is certain
};

class Successors {
 public:
  // `image` is of the module as it crashed, `file` and `built` of the module now. All must outlive it.
  // REQUIRES: built->has_types().
  Successors(const TestReport& report, const ModuleImage& image, const ProgramFile& file, BuiltFile* built);

  Sought Find(const ReplayFrame& frame);

 private:
  // A lambda's own function, or one of the C++ library that was made for it, as a thread's.
  Sought FindOfLambda(const ReplayFrame& frame);
  bool HasItsClosures(const ReplayFrame& frame, const Symbol& symbol);
  bool HasEvidence(size_t self, const Symbol& symbol, bool same_name);
  // Whether the nearest caller, or callee, on the recorded stack calls it, or is called by it; nothing if this build
  // has none of them out of line.
  std::optional<bool> IsCalled(const std::vector<SourceFrame>& chain, size_t self, const Symbol& symbol);
  std::optional<bool> CallsInner(const std::vector<SourceFrame>& chain, size_t self, const Symbol& symbol);
  bool Fits(const ReplayFrame& frame, const Symbol& symbol, std::string* added);
  bool IsRival(const ReplayFrame& frame, const std::string& name) const;
  // The entry of a function that both builds have, by its name in the source; 0: there is none, or more than one.
  uint64_t EntryOf(const std::string& function) const;

  const TestReport& report_;
  const ModuleImage& image_;
  BuiltFile* built_;
  HandlerReader calls_;
  std::map<std::string, const Symbol*> new_;        // by linkage name: what the build that crashed had not
  std::vector<const Symbol*> of_lambdas_;           // what has a lambda in its name
  std::set<std::string> gone_;                      // names in the source of functions that this build has not
  std::map<std::string, std::set<uint64_t>> kept_;  // by name in the source
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_SUCCESSORS_H_
