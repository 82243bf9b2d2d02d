#include "testgen/replay/host/successors.h"

#include <algorithm>
#include <span>

#include "agent/base/readable_name.h"
#include "agent/base/text.h"
#include "agent/base/tool_function.h"
#include "agent/elf/symbol_key.h"
#include "testgen/carry/type_name.h"
#include "testgen/replay/plan/translation.h"
#include "testgen/symbols/dwarf/plain_function.h"

namespace recrash {
namespace {

constexpr int kDeepest = 8;
constexpr uint64_t kRegisters = 6;  // for integers (System V ABI)

std::string InSource(const std::string& key) { return SourceName(Demangle(NameInKey(key))); }

// "ns::f" as {"ns", "f"}.
std::pair<std::string, std::string> Split(const std::string& name) {
  const size_t at = name.rfind("::");
  if (at == std::string::npos) return {"", name};
  return {name.substr(0, at), name.substr(at + 2)};
}

const TypeLayout& At(const std::vector<TypeLayout>& types, uint32_t place) {
  static const TypeLayout kNone;
  return place < types.size() ? types[place] : kNone;
}

// By name: what has changed in a class is another question.
bool IsSameType(const std::vector<TypeLayout>& before, uint32_t type, const std::vector<TypeLayout>& now,
                uint32_t type_now, int depth = 0) {
  const TypeLayout &a = At(before, type), &b = At(now, type_now);
  const bool is_class = a.form == TypeForm::kClass || a.form == TypeForm::kUnion;
  if (a.form != b.form || depth > kDeepest) return false;
  if (is_class ? !IsSameTypeName(a.name, b.name) : a.name != b.name) return false;
  if (a.form == TypeForm::kInteger || a.form == TypeForm::kFloat) return a.size == b.size && a.is_signed == b.is_signed;
  if (a.form != TypeForm::kPointer && a.form != TypeForm::kArray) return true;
  return IsSameType(before, a.target, now, b.target, depth + 1);
}

// How many registers for integers the parameter may take, at most.
uint64_t MostRegisters(const TypeLayout& type) {
  if (type.form == TypeForm::kFloat) return 0;
  return type.form == TypeForm::kInteger || type.form == TypeForm::kEnum || type.form == TypeForm::kPointer ? 1 : 2;
}

// The closure class that an object of a class of the C++ library holds, as a thread's function or a task; null: none.
const TypeLayout* ClosureIn(const std::vector<TypeLayout>& types, uint32_t type, int depth = 0) {
  const TypeLayout& layout = At(types, type);
  if (IsLambda(layout.name)) return &layout;
  if (layout.form == TypeForm::kPointer && depth == 0) return ClosureIn(types, layout.target, 1);
  if (layout.form != TypeForm::kClass || depth > kDeepest) return nullptr;
  for (const TypeMember& member : layout.members)
    if (const TypeLayout* closure = ClosureIn(types, member.type, depth + 1)) return closure;
  return nullptr;
}

bool IsNumber(const TypeLayout& type) { return type.form == TypeForm::kInteger || type.form == TypeForm::kEnum; }

}  // namespace

Successors::Successors(const TestReport& report, const ModuleImage& image, const ProgramFile& file, BuiltFile* built)
    : report_(report), image_(image), built_(built), calls_(built->modules()) {
  std::set<std::string> before(image.inlined.begin(), image.inlined.end()), now;
  for (const Symbol& symbol : image.symbols)
    if (symbol.is_function) before.insert(NameInKey(symbol.name));
  for (const Symbol& symbol : file.symbols) {
    const std::string name = NameInKey(symbol.name);
    if (!symbol.is_function || IsToolFunction(name)) continue;
    now.insert(name);
    if (!WithoutLambdaNumbers(name).empty()) of_lambdas_.push_back(&symbol);
    if (before.contains(name))
      kept_[InSource(name)].insert(symbol.offset);
    else if (name.find('.') == std::string::npos)  // no part that the compiler has split off
      new_.emplace(name, &symbol);
  }
  for (const Symbol& symbol : image.symbols) {
    const std::string name = NameInKey(symbol.name);
    if (symbol.is_function && !IsToolFunction(name) && !now.contains(name)) gone_.insert(InSource(name));
  }
}

uint64_t Successors::EntryOf(const std::string& function) const {
  const auto found = kept_.find(function);
  return found == kept_.end() || found->second.size() != 1 ? 0 : *found->second.begin();
}

bool Successors::Fits(const ReplayFrame& frame, const Symbol& symbol, std::string* added) {
  const auto now = built_->ParametersAt(symbol.offset);
  if (!now || now->size() < frame.parameters.size()) return false;
  uint64_t registers = 0;
  for (size_t i = 0; i < frame.parameters.size(); ++i) {
    const ReplayParameter &had = frame.parameters[i], &has = (*now)[i];
    if ((had.number == 0) != (has.number == 0)) return false;  // what is returned
    if (!IsSameType(image_.types, had.type, built_->types(), has.type)) return false;
    registers += MostRegisters(At(image_.types, had.type));
  }
  for (size_t i = frame.parameters.size(); i < now->size(); ++i) {
    const ReplayParameter& has = (*now)[i];
    if (has.number == 0 || !IsNumber(At(built_->types(), has.type)) || ++registers > kRegisters) return false;
    *added += (added->empty() ? "`" : ", `") + has.name + "`";
  }
  return true;
}

std::optional<bool> Successors::IsCalled(const std::vector<SourceFrame>& chain, size_t self, const Symbol& symbol) {
  for (size_t caller = self + 1; caller < chain.size(); ++caller) {
    const uint64_t entry = EntryOf(chain[caller].function);
    if (entry == 0) continue;  // inlined, or gone as well
    return !calls_.CallsIn(built_->AddressOf(entry), {built_->AddressOf(symbol.offset)}).empty();
  }
  return std::nullopt;
}

std::optional<bool> Successors::CallsInner(const std::vector<SourceFrame>& chain, size_t self, const Symbol& symbol) {
  for (size_t callee = self; callee-- > 0;) {
    const uint64_t entry = EntryOf(chain[callee].function);
    if (entry == 0) continue;
    return !calls_.CallsIn(built_->AddressOf(symbol.offset), {built_->AddressOf(entry)}).empty();
  }
  return std::nullopt;
}

// Debug information does not know all functions that were inlined, but those that call another one it does. So a
// function of another name has to call what the recorded one called.
bool Successors::HasEvidence(size_t self, const Symbol& symbol, bool same_name) {
  const std::vector<SourceFrame>& chain = report_.replay.place.chain;
  const std::optional<bool> calls = CallsInner(chain, self, symbol);
  if (!calls && !same_name) return false;
  const std::optional<bool> called = IsCalled(chain, self, symbol);
  return (calls || called) && calls.value_or(true) && called.value_or(true);
}

// Could another function that is gone have become a function of that name too? Of those parameters are not known, if
// they are on no frame.
bool Successors::IsRival(const ReplayFrame& frame, const std::string& name) const {
  const auto [scope, last] = Split(name);
  return std::ranges::any_of(gone_, [&, scope = scope, last = last](const std::string& other) {
    const auto [other_scope, other_last] = Split(other);
    return other != SourceName(frame.function) && (other_last == last || other_scope == scope);
  });
}

bool Successors::HasItsClosures(const ReplayFrame& frame, const Symbol& symbol) {
  const auto parameters = built_->ParametersAt(symbol.offset);
  if (!parameters || parameters->size() != frame.parameters.size()) return false;
  int same = 0;
  for (size_t i = 0; i < parameters->size(); ++i) {
    const TypeLayout* was = ClosureIn(image_.types, frame.parameters[i].type);
    const TypeLayout* is = ClosureIn(built_->types(), (*parameters)[i].type);
    if (!was != !is || (was && !IsLambdaInSamePlace(was->name, is->name))) return false;
    if (was) ++same;
  }
  return same > 0;
}

Sought Successors::FindOfLambda(const ReplayFrame& frame) {
  Sought sought;
  const std::string name = SourceName(frame.function);
  for (const Symbol* symbol : of_lambdas_) {
    if (InSource(symbol->name) != name || !HasItsClosures(frame, *symbol)) continue;
    const std::string readable = Demangle(NameInKey(symbol->name));
    sought.candidates.push_back(readable);
    sought.found = Successor{symbol->offset, readable, ""};
  }
  if (sought.candidates.size() > 1) sought.found.reset();
  return sought;
}

Sought Successors::Find(const ReplayFrame& frame) {
  if (!WithoutLambdaNumbers(frame.linkage_name).empty()) return FindOfLambda(frame);
  Sought sought;
  const std::string gone = SourceName(frame.function);
  const std::vector<SourceFrame>& chain = report_.replay.place.chain;
  const auto self = std::ranges::find(chain, gone, &SourceFrame::function);
  if (frame.inlined_at.value != 0 || self == chain.end() || (frame.parameters.empty() && !frame.words.empty()))
    return sought;
  std::vector<Successor> certain;
  for (const auto& [linkage_name, symbol] : new_) {
    const std::string name = InSource(linkage_name);
    const bool renamed = Split(name).first == Split(gone).first;
    if (!renamed && Split(name).second != Split(gone).second) continue;
    if (BaseName(built_->SourceFileAt(symbol->offset)) != self->file) continue;
    Successor one{symbol->offset, name, ""};
    if (!Fits(frame, *symbol, &one.added)) continue;
    sought.candidates.push_back(name);
    const bool same_name = Split(name).second == Split(gone).second;
    if (HasEvidence(static_cast<size_t>(self - chain.begin()), *symbol, same_name) &&
        (same_name || !IsRival(frame, name)))
      certain.push_back(one);
  }
  if (certain.size() == 1 && sought.candidates.size() == 1) sought.found = certain[0];
  return sought;
}

}  // namespace recrash
