#include "testgen/symbols/stack/jumps_out.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "testgen/symbols/stack/call_site.h"

namespace recrash {
namespace {

constexpr int kMaxNesting = 64;
constexpr size_t kMostJumps = 100'000;

bool HasCode(Dwarf_Die& function) {
  Dwarf_Addr entry = 0;
  return dwarf_entrypc(&function, &entry) == 0;
}

}  // namespace

std::vector<JumpOut> JumpsOutOf(Dwarf_Die function) {
  std::vector<JumpOut> found;
  for (const TailCall& jump : TailCallsOf(function)) {
    Dwarf_Die site = jump.site;
    auto callee = OwnAttributeDie(site, CalleeAttribute(site));
    if (!callee || HasCode(*callee)) continue;
    std::string name = LinkageName(*callee);
    found.push_back({jump.address, name.empty() ? DieName(*callee) : std::move(name)});
  }
  return found;
}

std::vector<JumpOut> JumpsOut(DebugInfo& debug) {
  std::vector<JumpOut> found;
  const std::function<void(Dwarf_Die&, int)> visit = [&](Dwarf_Die& parent, int depth) {
    Dwarf_Die child;
    if (depth > kMaxNesting || dwarf_child(&parent, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_subprogram && HasCode(child) && found.size() < kMostJumps)
        std::ranges::move(JumpsOutOf(child), std::back_inserter(found));
      if (tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type) visit(child, depth + 1);
    } while (dwarf_siblingof(&child, &child) == 0);
  };
  debug.ForEachUnit([&](Dwarf_Die& unit) { visit(unit, 0); });
  return found;
}

bool IsIndirectCall(ModuleSet& modules, TargetAddress return_address) {
  constexpr uint8_t kGroup = 0xff, kCall = 2, kRelative = 0x15;
  // call *%rax, *8(%rax), *8(%rax,%rbx), *0x100(%rax), *0x100(%rax,%rbx); a prefix may stand before it.
  for (const uint64_t size : {2, 3, 4, 6, 7}) {
    std::array<uint8_t, 2> code{};
    if (!modules.ReadFile(return_address - size, code)) return false;
    // Through a table of the linker it leads to one function for good.
    if (code[0] == kGroup && (code[1] >> 3 & 7) == kCall && code[1] != kRelative) return true;
  }
  return false;
}

}  // namespace recrash
