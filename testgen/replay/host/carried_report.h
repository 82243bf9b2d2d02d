// A report with the objects of changed classes carried over to the build that is replayed (testgen/carry).
//
//   CarriedReport carried(report, now);
//   carried.Carry(module_types);
//   if (carried.report()) plan = BuildPlan(*carried.report(), ...);
//
// Frames that are called from their entry states have memory of their own, and are carried over each for itself.
#ifndef RECRASH_TESTGEN_REPLAY_HOST_CARRIED_REPORT_H_
#define RECRASH_TESTGEN_REPLAY_HOST_CARRIED_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/report/pages.h"
#include "agent/report/report.h"
#include "testgen/carry/carry.h"

namespace recrash {

// What is to be carried over in one module that is another build now.
struct ChangedModule {
  const Module* module = nullptr;
  const ModuleImage* image = nullptr;
  TypePairs* types = nullptr;
  std::map<uint32_t, std::vector<ReplayParameter>> parameters;  // by ReplayFrame::index: types of the new build
  std::vector<std::pair<const Variable*, uint32_t>> variables;  // with their types in the new build
};

class CarriedReport {
 public:
  explicit CarriedReport(const TestReport& report) : original_(report) {}

  void Carry(const ChangedModule& module);

  // Null: nothing was carried over.
  const TestReport* report() const { return report_ ? &*report_ : nullptr; }
  std::map<uint32_t, std::string> problems;  // by ReplayFrame::index
  // By ReplayFrame::index: new contents of variables, by their recorded addresses.
  std::map<uint32_t, std::vector<std::pair<uint64_t, std::vector<uint8_t>>>> variables;
  std::set<std::string> notes;

 private:
  CarriedMemory CarryFrames(const ChangedModule& module, const std::vector<ReplayFrame*>& frames, const Pages* pages);
  void TakeArguments(const std::vector<ReplayFrame*>& frames, const CarriedMemory& carried);
  std::string WhyNotWritten(const ReplayFrame& frame, const CarriedMemory& carried) const;
  void PutWords(const std::vector<uint8_t>& bytes, const ReplayParameter& parameter, ReplayFrame* frame);
  void AddPages(const CarriedMemory& carried);
  void WriteMemory(const std::vector<CarriedBytes>& writes);
  void WriteEntryState(const CarriedMemory& carried, EntryState* state);

  const TestReport& original_;
  std::optional<TestReport> report_;
  std::set<uint64_t> changed_pages_;  // of the memory of the crash
  uint64_t free_pages_ = 0x200000000000;
};

// The classes whose vtables lie in the module, by its symbols.
ClassOfVtable VtablesOf(const Module& module, const ModuleImage& image);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_CARRIED_REPORT_H_
