#include "testgen/symbols/layout/closures.h"

#include <dwarf.h>

#include <algorithm>
#include <vector>

#include "agent/base/text.h"

namespace recrash {
namespace {

constexpr int kMaxNesting = 64;

bool IsScope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_lexical_block || tag == DW_TAG_subprogram;
}

}  // namespace

bool IsClosure(Dwarf_Die& type) {
  const int tag = dwarf_tag(&type);
  if ((tag != DW_TAG_class_type && tag != DW_TAG_structure_type) || !DieName(type).empty()) return false;
  return std::ranges::any_of(ChildrenWithTag(type, DW_TAG_subprogram),
                             [](Dwarf_Die& function) { return DieName(function) == "operator()"; });
}

void Closures::Number(std::vector<Dwarf_Die>* closures, const Around& around) {
  for (size_t i = 0; i < closures->size(); ++i) {
    const SourceLine at = DebugInfo::DeclaredAt((*closures)[i]);
    std::string name =
        "(lambda " + std::to_string(i + 1) + " of " + std::to_string(closures->size()) + " in " + around.function;
    name += ", line +" + std::to_string(at.line - std::min(at.line, around.line)) + " of " + BaseName(at.file) + ")";
    names_->emplace((*closures)[i].addr, std::move(name));
  }
}

// `around` is the function that the parent is or lies in.
void Closures::Visit(Dwarf_Die& parent, const Around& around, int depth) {
  std::vector<Dwarf_Die> closures;
  const std::function<void(Dwarf_Die&, int)> collect = [&](Dwarf_Die& scope, int nesting) {
    Dwarf_Die child;
    if (nesting > kMaxNesting || dwarf_child(&scope, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      if (!IsScope(tag)) continue;
      if (tag == DW_TAG_subprogram) {
        // Closures stand in what describes the function in general, not in its copies.
        if (!OwnAttributeDie(child, DW_AT_abstract_origin))
          Visit(child, {DieName(child), DebugInfo::DeclaredAt(child).line}, nesting + 1);
        continue;
      }
      if (IsClosure(child)) closures.push_back(child);
      collect(child, nesting + 1);
    } while (dwarf_siblingof(&child, &child) == 0);
  };
  collect(parent, depth);
  Number(&closures, around);
}

std::string Closures::NameOf(Dwarf_Die& type) {
  if (!names_) {
    names_.emplace();
    debug_.ForEachUnit([&](Dwarf_Die& unit) { Visit(unit, {BaseName(DieName(unit)), 0}, 0); });
  }
  const auto found = names_->find(type.addr);
  return found == names_->end() ? "" : found->second;
}

}  // namespace recrash
