// The plugin that clang and opt load. RecordPass runs last, when signatures are final and inlining is done, so that it
// never changes what is inlined; as `recrash` in opt's -passes. Under link-time optimisation that is in the link step.
// StartPass runs first, in the compile step.
#include <memory>

#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#include "shadowstack/pass/instrument.h"
#include "shadowstack/pass/selection/annotations.h"
#include "shadowstack/pass/selection/options.h"
#include "shadowstack/pass/sensitive.h"

namespace recrash::pass {
namespace {

// Annotations would keep the optimiser from removing and changing the functions that have them.
struct StartPass : llvm::PassInfoMixin<StartPass> {
  explicit StartPass(bool defers) : defers_(defers) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    const bool marked = MarkSensitiveVariables(module);
    const bool changed = TurnAnnotationsIntoAttributes(module) || marked;
    if (defers_) DeferToLink(module);
    return changed || defers_ ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }

 private:
  bool defers_;
};

struct RecordPass : llvm::PassInfoMixin<RecordPass> {
  explicit RecordPass(Step step) : step_(step) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
#if LLVM_VERSION_MAJOR < 20
    const bool had_debug_records = module.IsNewDbgInfoFormat;
    if (!had_debug_records) module.convertToNewDbgValues();
#endif
    if (step_ == Step::kLink)
      InstrumentAtLink(module);
    else
      InstrumentAtCompile(module);
#if LLVM_VERSION_MAJOR < 20
    if (!had_debug_records) module.convertFromNewDbgValues();
#endif
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }  // at -O0 as well

 private:
  Step step_;
};

// Without optimisation nothing is inlined at link time either, and lld has no place for plugins in such a pipeline.
bool DefersToLink(llvm::OptimizationLevel level) {
  llvm::Expected<Options> options = OptionsFromCommandLine();
  if (options) return options->lto == Step::kLink && level != llvm::OptimizationLevel::O0;
  llvm::consumeError(options.takeError());  // said by the passes
  return false;
}

void Register(llvm::PassBuilder& builder) {
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::ModulePassManager& passes, llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != "recrash") return false;
        passes.addPass(RecordPass(Step::kCompile));
        return true;
      });
  // Only the pipeline of a compile step has a start. ThinLTO's of the link step ends as that of a compile step does.
  const auto compiles = std::make_shared<bool>(false);
  builder.registerPipelineStartEPCallback([compiles](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
    *compiles = true;
    passes.addPass(StartPass(DefersToLink(level)));
  });
  const auto add_last = [compiles](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
    if (!*compiles)
      passes.addPass(RecordPass(Step::kLink));
    else if (!DefersToLink(level))
      passes.addPass(RecordPass(Step::kCompile));
  };
#if LLVM_VERSION_MAJOR >= 20
  builder.registerOptimizerLastEPCallback([add_last](llvm::ModulePassManager& passes, llvm::OptimizationLevel level,
                                                     llvm::ThinOrFullLTOPhase) { add_last(passes, level); });
#else
  builder.registerOptimizerLastEPCallback(add_last);
#endif
  builder.registerFullLinkTimeOptimizationLastEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(RecordPass(Step::kLink)); });
}

}  // namespace
}  // namespace recrash::pass

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "recrash", "1", recrash::pass::Register};
}
