// The plugin that clang and opt load: one module pass, run last, when signatures are final and inlining is done, so
// that it never changes what is inlined. As `recrash` in opt's -passes.
#include <string>

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

struct RecordPass : llvm::PassInfoMixin<RecordPass> {
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (!IsSupported(module)) {
      Warn(module);
      return llvm::PreservedAnalyses::all();
    }
    if (HasBuildNote(module)) return llvm::PreservedAnalyses::all();
#if LLVM_VERSION_MAJOR < 20
    const bool had_debug_records = module.IsNewDbgInfoFormat;
    if (!had_debug_records) module.convertToNewDbgValues();
#endif
    const Options options = OptionsFromCommandLine();
    for (llvm::Function& function : module) {
      if (!ShouldInstrument(function, options)) continue;
      const bool has_record = KeepsArguments(options.mode) && !function.arg_empty() && AddRecord(function, options);
      if (HasPatchableEntries(options.mode)) MakeEntryPatchable(function, has_record);
    }
    AddBuildNote(module, options);
#if LLVM_VERSION_MAJOR < 20
    if (!had_debug_records) module.convertFromNewDbgValues();
#endif
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }  // at -O0 as well
};

void Register(llvm::PassBuilder& builder) {
  builder.registerPipelineParsingCallback(
      [](llvm::StringRef name, llvm::ModulePassManager& passes, llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
        if (name != "recrash") return false;
        passes.addPass(RecordPass());
        return true;
      });
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
