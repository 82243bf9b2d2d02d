// The plugin that clang and opt load. RecordPass runs last, when signatures are final and inlining is done, so that it
// never changes what is inlined; as `recrash` in opt's -passes. AnnotationPass runs first.
#include <string>
#include <utility>

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/TargetParser/Triple.h"
#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#include "shadowstack/pass/annotations.h"
#include "shadowstack/pass/build_report.h"
#include "shadowstack/pass/function_list.h"
#include "shadowstack/pass/note.h"
#include "shadowstack/pass/options.h"
#include "shadowstack/pass/patchable_entry.h"
#include "shadowstack/pass/record.h"
#include "shadowstack/pass/selection.h"

namespace recrash::pass {
namespace {

bool IsSupported(const llvm::Module& module) {
  const llvm::Triple triple(module.getTargetTriple());
  return triple.getArch() == llvm::Triple::x86_64 && triple.isOSBinFormatELF() && !triple.isX32();
}

void Warn(llvm::Module& module) {
  const std::string text = "recrash instruments x86-64 ELF only; " + module.getModuleIdentifier() + " is left as it is";
#if LLVM_VERSION_MAJOR >= 20
  module.getContext().diagnose(llvm::DiagnosticInfoGeneric(text, llvm::DS_Warning));
#else
  module.getContext().diagnose(llvm::DiagnosticInfoInlineAsm(text, llvm::DS_Warning));
#endif
}

void Fail(llvm::Module& module, llvm::Error error) {
  module.getContext().emitError("recrash: " + llvm::toString(std::move(error)));
}

// Runs first: annotations would keep the optimiser from removing and changing the functions that have them.
struct AnnotationPass : llvm::PassInfoMixin<AnnotationPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    return TurnAnnotationsIntoAttributes(module) ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }
};

struct RecordPass : llvm::PassInfoMixin<RecordPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (!IsSupported(module)) {
      Warn(module);
      return llvm::PreservedAnalyses::all();
    }
    if (HasBuildNote(module)) return llvm::PreservedAnalyses::all();
    llvm::Expected<Options> options = OptionsFromCommandLine();
    if (!options) {
      Fail(module, options.takeError());
      return llvm::PreservedAnalyses::all();
    }
    llvm::Expected<FunctionList> list = FunctionList::Read(options->lists);
    if (!list) {
      Fail(module, list.takeError());
      return llvm::PreservedAnalyses::all();
    }
#if LLVM_VERSION_MAJOR < 20
    const bool had_debug_records = module.IsNewDbgInfoFormat;
    if (!had_debug_records) module.convertToNewDbgValues();
#endif
    TurnAnnotationsIntoAttributes(module);
    InstrumentAll(module, *options, *list);
    AddBuildNote(module, *options);
#if LLVM_VERSION_MAJOR < 20
    if (!had_debug_records) module.convertFromNewDbgValues();
#endif
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }  // at -O0 as well

 private:
  static void InstrumentAll(llvm::Module& module, const Options& options, const FunctionList& list) {
    BuildReport report;
    for (llvm::Function& function : module) {
      if (function.isDeclaration() || function.hasAvailableExternallyLinkage()) continue;
      const Wish wish = Combined(AnnotatedWish(function), list.WishFor(function));
      const Choice choice = Instrument(function, options, Choose(function, options, wish));
      if (!options.report.empty()) report.Add(function, choice);
    }
    if (options.report.empty()) return;
    if (llvm::Error error = report.Write(module, options)) Fail(module, std::move(error));
  }

  // Gives what came of the choice: a function may turn out to have nothing to keep.
  static Choice Instrument(llvm::Function& function, const Options& options, Choice choice) {
    if (!choice.monitored) return choice;
    Options own = options;
    own.depth = choice.depth;
    const bool has_record = KeepsArguments(own.mode) && !function.arg_empty() && AddRecord(function, own);
    const bool is_patchable = HasPatchableEntries(own.mode) && MakeEntryPatchable(function, has_record);
    if (has_record || is_patchable) return choice;
    return {false, HasPatchableEntries(own.mode) ? Reason::kNoPrefix : Reason::kUsesNoArgument, "", 0};
  }
};

void Register(llvm::PassBuilder& builder) {
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::ModulePassManager& passes, llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != "recrash") return false;
        passes.addPass(RecordPass());
        return true;
      });
  builder.registerPipelineStartEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(AnnotationPass()); });
#if LLVM_VERSION_MAJOR >= 20
  builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel,
                                             llvm::ThinOrFullLTOPhase) { passes.addPass(RecordPass()); });
#else
  builder.registerOptimizerLastEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) { passes.addPass(RecordPass()); });
#endif
}

}  // namespace
}  // namespace recrash::pass

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "recrash", "1", recrash::pass::Register};
}
