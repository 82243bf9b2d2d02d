// The class behind BuildPlan. Its functions are in plan_builder.cc, plan_memory.cc and plan_frames.cc.
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_PLAN_PARTS_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_PLAN_PARTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/literals/shapes.h"
#include "testgen/replay/plan/plan_builder.h"
#include "testgen/replay/plan/plan_tables.h"
#include "testgen/replay/plan/translation.h"

namespace recrash {

// Returns the name of a symbol, or of its key, as people know it.
std::string ReadableSymbol(const std::string& linkage_name);

// Fills the tables from a report, in the order of Build: a later function looks at what the earlier ones have filled
// in.
class PlanBuilder : private PlanTables {
 public:
  PlanBuilder(const TestReport& report, const ProgramFile& program, const std::vector<RebuiltLibrary>& libraries,
              const PlanOptions& options);

  Result<Fd> Build();

 private:
  void AddModules();
  void AddMappings();
  void AddMapping(const Mapping& mapping, uint64_t start, uint64_t end);
  void AddEntryMappings();
  void AddEntryMapping(uint64_t start, uint64_t end);
  void AddRuns();
  void AddRun(TargetAddress address, std::span<const uint8_t> bytes);
  void AddAbsent();
  void AddThrow();
  void AddPatches();
  void NumberThreadLocals();
  void AddThreadLocals(const ModuleImage& image, const ProgramFile& now, plan::Module* module);
  void AddPatch(std::vector<plan::Patch>* patches, TargetAddress address, std::span<const uint8_t> bytes);
  std::vector<plan::OpenFile> Files(const std::vector<OpenFile>& files);
  void AddInputs();
  int32_t InputAt(const std::string& path) const;
  void AddFrame(const ReplayFrame& frame);
  std::string WhoHasInlined(const ReplayFrame& frame, const ModuleTranslation& translation) const;
  void PlaceEntry(const ReplayFrame& frame, plan::Frame* planned);
  plan::Array AddWords(const std::vector<ReplayWord>& words);
  void AddLiterals(const ReplayFrame& frame, plan::Frame* planned);
  void AddFields(const std::vector<ReplayField>& fields, plan::Frame* planned);
  plan::EntryState AddEntryState(const EntryState& state);
  void AddEntryRun(TargetAddress address, std::span<const uint8_t> bytes, std::vector<plan::Run>* runs);
  uint64_t EndOfPlaced(uint64_t address) const;
  void AddSymbols();
  void AddSymbols(const ModuleTranslation& translation, plan::Module* module);
  void AddFailure();
  void AddProcess();
  void FindOverflow(uint64_t sp);
  void MakeRoomForStack();
  void FindStack(uint64_t sp);
  int ModuleAt(uint64_t address) const;
  // The first address in (start, end) at which a module begins; `end` if none does.
  uint64_t NextModule(uint64_t start, uint64_t end) const;

  const TestReport& report_;
  const ProgramFile& program_;
  const PlanOptions& options_;
  std::vector<const ProgramFile*> rebuilt_;  // for each module the file that is another build now, or null
  std::map<size_t, ModuleTranslation> translations_;
  struct PlannedShapes {
    std::unique_ptr<Shapes> shapes;
    std::map<uint32_t, uint32_t> places;  // in the plan, by place in `shapes`
  };
  uint32_t PlaceShape(PlannedShapes* planned, uint32_t shape);
  std::map<const std::vector<TypeLayout>*, PlannedShapes> shapes_of_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_PLAN_PARTS_H_
