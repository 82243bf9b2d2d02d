#include "testgen/symbols/dwarf/function_code.h"

#include <dwarf.h>

#include <cstddef>

#include "agent/base/text.h"

namespace recrash {
namespace {

constexpr int kMaxNesting = 64;

bool HasSourceFile(Dwarf_Die& unit, const std::string& file) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0) return false;
  for (size_t i = 0; i < count; ++i) {
    const char* path = dwarf_filesrc(files, i, nullptr, nullptr);
    if (path != nullptr && BaseName(path) == file) return true;
  }
  return false;
}

bool IsNamed(Dwarf_Die& function, const std::string& name) {
  const std::string own = DieName(function);
  return own.starts_with(name) && (own.size() == name.size() || own[name.size()] == '<');
}

bool HasInlined(Dwarf_Die& scope, const std::string& name, int depth) {
  Dwarf_Die child;
  if (depth > kMaxNesting || dwarf_child(&scope, &child) != 0) return false;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_inlined_subroutine && IsNamed(child, name)) return true;
    const bool has_code = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block;
    if (has_code && HasInlined(child, name, depth + 1)) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

void AddRanges(Dwarf_Die& function, std::vector<FunctionCode>& into) {
  Dwarf_Addr base = 0, low = 0, high = 0;
  for (ptrdiff_t next = dwarf_ranges(&function, 0, &base, &low, &high); next > 0;
       next = dwarf_ranges(&function, next, &base, &low, &high))
    if (low != 0 && low < high) into.push_back({dwarf_dieoffset(&function), low, high});
}

// Functions stand in namespaces and classes; those of local classes in functions and blocks.
void Collect(Dwarf_Die& parent, const std::string& name, int depth, std::vector<FunctionCode>& into) {
  Dwarf_Die child;
  if (depth > kMaxNesting || dwarf_child(&parent, &child) != 0) return;
  do {
    switch (dwarf_tag(&child)) {
      case DW_TAG_subprogram:
        if (IsNamed(child, name) || HasInlined(child, name, 0)) AddRanges(child, into);
        Collect(child, name, depth + 1, into);
        break;
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_module:
      case DW_TAG_lexical_block:
        Collect(child, name, depth + 1, into);
        break;
      default:
        break;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace

std::vector<FunctionCode> CodeWith(DebugInfo& debug, const std::string& name, const std::string& file) {
  std::vector<FunctionCode> found;
  debug.ForEachUnit([&](Dwarf_Die& unit) {
    if (dwarf_tag(&unit) == DW_TAG_compile_unit && HasSourceFile(unit, file)) Collect(unit, name, 0, found);
  });
  return found;
}

}  // namespace recrash
