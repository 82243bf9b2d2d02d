#include "shadowstack/pass/instrument.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/TargetParser/Triple.h"
#include "shadowstack/pass/at_link.h"
#include "shadowstack/pass/collector_place.h"
#include "shadowstack/pass/note.h"
#include "shadowstack/pass/patchable_entry.h"
#include "shadowstack/pass/record.h"
#include "shadowstack/pass/selection/annotations.h"
#include "shadowstack/pass/selection/build_report.h"
#include "shadowstack/pass/selection/function_list.h"
#include "shadowstack/pass/selection/options.h"
#include "shadowstack/pass/selection/selection.h"
#include "shadowstack/pass/write_effects.h"

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

// What a build asks for, read once a module.
struct Request {
  Options options;
  FunctionList list;

  static llvm::Expected<Request> Read(const llvm::Module& module) {
    llvm::Expected<Options> options = OptionsFromCommandLine();
    if (!options) return options.takeError();
    llvm::Expected<FunctionList> list = FunctionList::Read(options->lists);
    if (!list) return list.takeError();
    llvm::Expected<std::string> report = ReportPath(module, *options);
    if (!report) return report.takeError();
    options->report = *report;
    return Request{std::move(*options), std::move(*list)};
  }

  Wish WishFor(const llvm::Function& function) const {
    return Combined(AnnotatedWish(function), list.WishFor(function));
  }
};

// Looked for once a module, before anything is changed in a function that needs them.
using LazyEffects = std::optional<WriteEffects>;

// Null where nothing is copied.
WriteEffects* EffectsFor(const Options& options, llvm::Module& module, LazyEffects& effects) {
  if (options.mode != Mode::kFull || options.depth == 0) return nullptr;
  if (!effects) effects.emplace(module);
  return &*effects;
}

bool HasBodyHere(const llvm::Function& function) {
  return !function.isDeclaration() && !function.hasAvailableExternallyLinkage();
}

// Gives what came of it: a function may turn out to have nothing to keep.
Choice Instrument(llvm::Function& function, const Options& options, const Wish& wish, LazyEffects& effects) {
  Choice choice = Choose(function, options, wish);
  if (!choice.monitored) return choice;
  Options own = options;
  own.depth = choice.depth;
  Recorded recorded;
  if (TraitsOf(own.mode).keeps_arguments && !function.arg_empty())
    recorded = AddRecord(function, own, EffectsFor(own, *function.getParent(), effects));
  choice.record_bytes = recorded.bytes;
  const bool is_patchable = TraitsOf(own.mode).patchable && MakeEntryPatchable(function, recorded.stores_at_entry);
  if (recorded.described || is_patchable) return choice;
  return {false, TraitsOf(own.mode).patchable ? kNoPrefix : kUsesNoArgument, "", 0, 0};
}

}  // namespace

void InstrumentAtCompile(llvm::Module& module) {
  if (!IsSupported(module)) return Warn(module);
  if (HasBuildNote(module)) return;
  llvm::Expected<Request> request = Request::Read(module);
  if (!request) return Fail(module, request.takeError());
  TurnAnnotationsIntoAttributes(module);
  LazyEffects effects;
  BuildReport report;
  for (llvm::Function& function : module) {
    if (!HasBodyHere(function)) continue;
    const Choice choice = Instrument(function, request->options, request->WishFor(function), effects);
    if (!request->options.report.empty()) report.Add(function, choice);
  }
  AddBuildNote(module, request->options);
  AddCollectorPlace(module);
  if (request->options.report.empty()) return;
  const std::string title = module.getModuleIdentifier() + ", mode " + TraitsOf(request->options.mode).name;
  if (llvm::Error error = report.Write(request->options.report, title)) Fail(module, std::move(error));
}

void DeferToLink(llvm::Module& module) {
  if (!IsSupported(module)) return Warn(module);
  if (HasBuildNote(module)) return;
  llvm::Expected<Request> request = Request::Read(module);
  if (!request) return Fail(module, request.takeError());
  for (llvm::Function& function : module)
    if (HasBodyHere(function)) Defer(function, {request->options, request->WishFor(function)});
  AddBuildNote(module, request->options);
  AddCollectorPlace(module);
  RequirePassAtLink(module);
  // Written by the link step; where nothing is left of the object there must not be an old one.
  if (request->options.report != "-") llvm::sys::fs::remove(request->options.report);
}

void InstrumentAtLink(llvm::Module& module) {
  LazyEffects effects;
  std::map<std::string, BuildReport> reports;  // by path
  for (llvm::Function& function : module) {
    const std::optional<Deferred> deferred = TakeDeferred(function);
    if (!deferred || !HasBodyHere(function)) continue;
    const Choice choice = Instrument(function, deferred->options, deferred->wish, effects);
    if (!deferred->options.report.empty()) reports[deferred->options.report].Add(function, choice);
  }
  DropRequirement(module);
  for (const auto& [path, report] : reports)
    if (llvm::Error error = report.Write(path, "in the link step")) Fail(module, std::move(error));
}

}  // namespace recrash::pass
