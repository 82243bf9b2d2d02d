#include "testgen/replay/host/build_types.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "agent/base/text.h"
#include "agent/elf/symbol_key.h"
#include "testgen/carry/type_pairs.h"
#include "testgen/replay/host/built_file.h"
#include "testgen/replay/host/carried_report.h"
#include "testgen/replay/host/successors.h"
#include "testgen/replay/plan/translation.h"
#include "testgen/symbols/dwarf/plain_function.h"

namespace recrash {
namespace {

bool LeadsToClass(const std::vector<TypeLayout>& types, uint32_t type) {
  for (int i = 0; i < 8 && type < types.size(); ++i) {
    const TypeForm form = types[type].form;
    if (form == TypeForm::kClass || form == TypeForm::kUnion) return true;
    if (form != TypeForm::kPointer && form != TypeForm::kArray) return false;
    type = types[type].target;
  }
  return false;
}

// Whether they have the same names, which stand at other places.
bool AreReordered(const std::vector<ReplayParameter>& had, const std::vector<ReplayParameter>& has) {
  return !std::ranges::equal(had, has, {}, &ReplayParameter::name, &ReplayParameter::name) &&
         std::ranges::is_permutation(had, has, {}, &ReplayParameter::name, &ReplayParameter::name);
}

// One module of the report that is another build now.
class ModuleTypes {
 public:
  ModuleTypes(const TestReport& report, const Module& module, const ModuleImage& image, const ProgramFile& file,
              const std::vector<std::string>& search_paths)
      : report_(report), module_(module), image_(image), file_(file), search_paths_(search_paths) {}

  void Fit(BuildTypes* types, CarriedReport* carried) {
    BuiltFile built(file_, search_paths_);
    const ModuleTranslation translation(image_.symbols, file_.symbols);
    const std::map<uint32_t, uint64_t> entries = FindEntries(translation, &built, types);
    if (image_.types.size() <= 1) {
      types->notes.insert(Name() + ": the report does not say how classes lay in the build that crashed");
      return;
    }
    if (!built.has_types()) return FindNotComparable(types);
    ChangedModule changed;
    changed.module = &module_;
    changed.image = &image_;
    Successors successors(report_, image_, file_, &built);
    for (const ReplayFrame& frame : report_.replay.frames) {
      if (!IsOfModule(frame) || types->changed_calls.contains(frame.index)) continue;
      const auto known = entries.find(frame.index);
      const bool is_there = known != entries.end();
      const auto entry = is_there ? std::optional(known->second) : SeekSuccessor(&successors, frame, &built, types);
      // Of a static function g++ writes the last name alone.
      const std::string name = SourceName(frame.function);
      const size_t scope = name.rfind("::");
      if (!entry &&
          (built.Inlines(frame.linkage_name) || built.Inlines(name.substr(scope == name.npos ? 0 : scope + 2))))
        types->inlined.insert(frame.index);
      if (!entry) continue;  // the plan says so
      auto now = built.ParametersAt(*entry);
      if (now && !is_there) now->resize(frame.parameters.size());
      if (now)
        changed.parameters[frame.index] = *std::move(now);
      else if (NeedsTypes(frame))
        types->problems[frame.index] = NotComparable();
    }
    const NamesakePairs namesakes = PairNamesakes(translation, built.variables());
    changed.variables = PairVariables(translation, built.variables());
    const auto now = std::make_shared<const std::vector<TypeLayout>>(built.TakeTypes());
    TypePairs pairs(image_.types, *now);
    changed.types = &pairs;
    RefuseNamesakes(namesakes, &pairs, types);
    CheckParameters(&changed, types);
    for (const auto& [frame, parameters] : changed.parameters) types->parameters[frame] = {now, parameters};
    if (HasChanged(changed)) carried->Carry(changed);
  }

 private:
  std::string Name() const { return BaseName(file_.path); }

  bool IsOfModule(const ReplayFrame& frame) const {
    return frame.entry >= module_.base && frame.entry - module_.base < module_.size;
  }

  // Where the functions of frames begin in this build. Functions that are local to a file may get their arguments in
  // another way there.
  std::map<uint32_t, uint64_t> FindEntries(const ModuleTranslation& translation, BuiltFile* built,
                                           BuildTypes* types) const {
    std::map<uint32_t, uint64_t> entries;
    for (const ReplayFrame& frame : report_.replay.frames) {
      if (!IsOfModule(frame)) continue;
      auto range = frame.inlined_at.value ? translation.FindFunctionNamed(frame.linkage_name)
                                          : translation.FindFunction(frame.entry - module_.base, frame.linkage_name);
      const bool is_found = range.has_value();
      if (!range && !translation.MayBeAnotherLambda(frame.linkage_name))
        range = translation.FindFunctionNamed(frame.linkage_name);
      if (!range || (!is_found && !IsMadeLocal(frame, range->first, built))) continue;
      entries[frame.index] = range->first;
      if (frame.changed_call && IsLocalFunction(image_.symbols, frame.entry - module_.base)) {
        types->problems[frame.index] =
            frame.function + " may have got its arguments in another way in the build that crashed";
        continue;
      }
      if (!is_found) types->made_local[frame.index] = range->first;
      if (!IsLocalFunction(file_.symbols, range->first)) continue;
      const auto usual = built->has_types() ? built->TakesArgumentsAsUsual(range->first) : std::nullopt;
      if (usual == false)
        types->changed_calls.insert(frame.index);
      else if (!usual && !frame.words.empty())
        types->problems[frame.index] = "how " + frame.function +
                                       " gets its arguments in this build is not known: " + Name() +
                                       " has no debug information of it; build it with -g";
    }
    return entries;
  }

  // Optimisation of the whole program makes functions local. Another file may have a local one of the same name.
  bool IsMadeLocal(const ReplayFrame& frame, uint64_t offset, BuiltFile* built) const {
    return IsLocalFunction(file_.symbols, offset) && built->has_types() &&
           BaseName(built->SourceFileAt(offset)) == BaseName(frame.file);
  }

  // Where the function begins that is called in place of the frame's own, which is gone; nothing if none is.
  std::optional<uint64_t> SeekSuccessor(Successors* successors, const ReplayFrame& frame, BuiltFile* built,
                                        BuildTypes* types) const {
    Sought sought = successors->Find(frame);
    if (sought.found && IsLocalFunction(file_.symbols, sought.found->offset) &&
        built->TakesArgumentsAsUsual(sought.found->offset) != true) {
      sought.candidates = {sought.found->name};
      sought.found.reset();
    }
    if (!sought.found) {
      types->candidates[frame.index] = sought.candidates;
      return std::nullopt;
    }
    types->successors[frame.index] = *sought.found;
    types->notes.insert("frame " + std::to_string(frame.index) + ": " + frame.function + " is not in this build; " +
                        sought.found->name + " is called");
    return sought.found->offset;
  }

  bool NeedsTypes(const ReplayFrame& frame) const {
    return std::ranges::any_of(frame.parameters,
                               [&](const ReplayParameter& p) { return LeadsToClass(image_.types, p.type); });
  }

  std::string NotComparable() const {
    return "whether its classes lie as in the build that crashed is not known: " + Name() +
           " has no debug information of them; build it with -g";
  }

  void FindNotComparable(BuildTypes* types) const {
    for (const ReplayFrame& frame : report_.replay.frames)
      if (IsOfModule(frame) && NeedsTypes(frame)) types->problems[frame.index] = NotComparable();
  }

  // A function of C keeps its name when its parameters change, and any function when two of one type change places.
  void CheckParameters(ChangedModule* changed, BuildTypes* types) {
    for (const ReplayFrame& frame : report_.replay.frames) {
      const auto found = changed->parameters.find(frame.index);
      if (found == changed->parameters.end()) continue;
      const auto number = [](const std::vector<ReplayParameter>& all) {
        return std::ranges::count_if(all, [](const ReplayParameter& parameter) { return parameter.number != 0; });
      };
      const auto had = number(frame.parameters), has = number(found->second);
      if (had == has && frame.parameters.size() == found->second.size()) {
        if (!AreReordered(frame.parameters, found->second)) continue;
        types->problems[frame.index] = frame.function + " has its parameters in another order in this build";
        changed->parameters.erase(found);
        continue;
      }
      // Without debug information of the function nothing is known of what it had.
      if (!frame.parameters.empty() || frame.words.empty())
        types->problems[frame.index] = had == has ? frame.function + " returns something else in this build"
                                                  : frame.function + " has " + std::to_string(has) +
                                                        " parameters in this build, had " + std::to_string(had);
      changed->parameters.erase(found);
    }
  }

  bool HasChanged(const ChangedModule& changed) const {
    for (const ReplayFrame& frame : report_.replay.frames) {
      const auto found = changed.parameters.find(frame.index);
      if (found == changed.parameters.end()) continue;
      for (size_t i = 0; i < frame.parameters.size(); ++i)
        if (!changed.types->ChangeBehind({frame.parameters[i].type, found->second[i].type}).empty()) return true;
    }
    return std::ranges::any_of(changed.variables, [&](const auto& pair) {
      return !changed.types->ChangeBehind({pair.first->type, pair.second}).empty();
    });
  }

  std::vector<std::pair<const Variable*, uint32_t>> PairVariables(const ModuleTranslation& translation,
                                                                  const std::vector<Variable>& now) const {
    std::map<uint64_t, uint64_t> new_offsets;
    for (const TranslatedSymbol& symbol : translation.symbols())
      if (!symbol.is_function && symbol.found) new_offsets.emplace(symbol.offset, symbol.new_offset);
    std::vector<std::pair<const Variable*, uint32_t>> pairs;
    for (const Variable& variable : image_.variables) {
      const auto offset = new_offsets.find(variable.offset);
      if (offset == new_offsets.end()) continue;
      const auto same = std::ranges::find(now, offset->second, &Variable::offset);
      if (same != now.end()) pairs.emplace_back(&variable, same->type);
    }
    return pairs;
  }

  // Variables that have one name in the source and two in the symbols: where a type is std::string, libstdc++ adds a
  // tag, and libc++ does not. Their values get nowhere.
  using NamesakePairs = std::vector<std::pair<const Variable*, uint32_t>>;
  NamesakePairs PairNamesakes(const ModuleTranslation& translation, const std::vector<Variable>& now) const {
    std::set<uint64_t> found;
    for (const TranslatedSymbol& symbol : translation.symbols())
      if (!symbol.is_function && symbol.found) found.insert(symbol.offset);
    NamesakePairs pairs;
    for (const Variable& variable : image_.variables) {
      if (found.contains(variable.offset) || variable.name.empty()) continue;
      const auto same = std::ranges::find(now, variable.name, &Variable::name);
      if (same != now.end()) pairs.emplace_back(&variable, same->type);
    }
    return pairs;
  }

  void RefuseNamesakes(const NamesakePairs& namesakes, TypePairs* pairs, BuildTypes* types) const {
    for (const auto& [variable, type] : namesakes) {
      const std::string& change = pairs->ChangeBehind({variable->type, type});
      if (change.empty()) continue;
      for (const ReplayFrame& frame : report_.replay.frames)
        if (IsOfModule(frame))
          types->problems.emplace(frame.index,
                                  change + "; the variable `" + variable->name + "` cannot be carried over");
    }
  }

  const TestReport& report_;
  const Module& module_;
  const ModuleImage& image_;
  const ProgramFile& file_;
  const std::vector<std::string>& search_paths_;
};

}  // namespace

void BuildTypes::MoveTo(PlanOptions* options) {
  options->problems = std::move(problems);
  options->variables = std::move(variables);
  options->parameters = std::move(parameters);
  options->successors = std::move(successors);
  options->candidates = std::move(candidates);
  options->made_local = std::move(made_local);
  options->changed_calls = std::move(changed_calls);
  options->inlined = std::move(inlined);
}

BuildTypes FitToBuild(const TestReport& report, const Subject& subject, const std::vector<std::string>& search_paths) {
  BuildTypes types;
  CarriedReport carried(report);
  for (size_t i = 0; i < report.modules.size(); ++i) {
    const Module& module = report.modules[i];
    const ModuleImage* image = report.replay.FindImage(module);
    if (!image) continue;
    const auto library = std::ranges::find(subject.rebuilt_libraries, i, &RebuiltLibrary::module);
    const ProgramFile* file = nullptr;
    if (module.is_program && !IsSameBuild(report, module, subject.program)) file = &subject.program;
    if (library != subject.rebuilt_libraries.end()) file = &library->file;
    if (file) ModuleTypes(report, module, *image, *file, search_paths).Fit(&types, &carried);
  }
  types.problems.insert(carried.problems.begin(), carried.problems.end());
  types.notes.insert(carried.notes.begin(), carried.notes.end());
  types.variables = std::move(carried.variables);
  if (carried.report()) types.carried = std::make_shared<const TestReport>(*carried.report());
  return types;
}

}  // namespace recrash
