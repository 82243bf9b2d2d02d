#include "testgen/symbols/source_chain.h"

#include "agent/base/text.h"
#include "agent/base/tool_function.h"
#include "testgen/symbols/dwarf/plain_function.h"
#include "testgen/symbols/stack/call_site.h"
#include "testgen/symbols/stack/jumps_out.h"

namespace recrash {
namespace {

constexpr size_t kLongestChain = 64;
constexpr int kMostJumps = 16;  // two functions may jump to each other for ever

}  // namespace

bool IsLibraryFunction(const std::string& function) {
  return function.starts_with("std::") || function.starts_with("__gnu_cxx::") || function.starts_with("__cxxabiv1::");
}

std::string WhereIn(const LiveFunction& function) {
  const std::string where = PlainFunction(function.function);
  if (function.at.file.empty()) return where;
  return where + " at " + BaseName(function.at.file) + ":" + std::to_string(function.at.line);
}

namespace {

// A sanitizer's runtime in the program itself, with its allocation functions, has no debug information.
bool IsOfRuntime(const CodeInfo& code) {
  if (code.debug || code.live.empty()) return false;
  const std::string& name = code.live.front().linkage_name;
  return IsToolFunction(name) || name.starts_with("_Zdl") || name.starts_with("_Zda") || name.starts_with("_Znw") ||
         name.starts_with("_Zna");
}

}  // namespace

bool SourceChainReader::is_full() const { return functions_.size() >= kLongestChain; }

void SourceChainReader::AddLive(const CodeInfo& code) {
  for (const LiveFunction& live : code.live) {
    const std::string function = SourceName(live.function);
    if (is_full() || function.empty() || IsToolFunction(live.linkage_name) || IsLibraryFunction(function)) continue;
    if (functions_.empty()) where_ = WhereIn(live);
    functions_.push_back({function, BaseName(live.at.file)});
  }
}

void SourceChainReader::Add(TargetAddress pc, bool exact) {
  const CodeInfo& code = code_.At(exact ? pc : pc - 1);
  const TargetAddress inner = inner_entry_;
  inner_entry_ = code.entry;
  const CodeInfo* inside = outside_;
  outside_ = nullptr;
  if (!code.module || !code.module->own || IsOfRuntime(code)) {
    inner_entry_ = {};
    outside_ = &code;
    if (functions_.empty()) ++outside_count_;
    if (inside && functions_.empty() && !exact && IsIndirectCall(code_.modules(), pc)) AddCallback(*inside);
    return;
  }
  if (!code.debug) has_debug_ = false;
  if (!exact) {
    const std::optional<Dwarf_Die>& site = code_.CallSiteAt(pc);
    const std::optional<TargetAddress> callee = site ? CalleeOf(*site, *code.module) : std::nullopt;
    if (callee) AddWithoutFrame(*callee, inner, 0);
  }
  AddLive(code);
}

void SourceChainReader::AddCallback(const CodeInfo& inner) {
  // Without symbols of the library nobody knows which of its functions this is.
  const std::string name = inner.live.empty() ? "" : inner.live.back().linkage_name;
  std::optional<TargetAddress> found;
  for (const Module& module : code_.modules().modules()) {
    const LoadedModule* loaded = code_.modules().Find(module.base);
    DebugInfo* debug = loaded && loaded->own ? code_.DebugOf(loaded) : nullptr;
    if (!debug) continue;
    for (const JumpOut& jump : JumpsOut(*debug)) {
      // libc's strcmp is __strcmp_avx2, a sanitizer's ___interceptor_strcmp.
      if (!name.empty() && name.find(jump.callee) == std::string::npos) continue;
      if (found) return;
      found = {jump.address + loaded->bias()};
    }
  }
  if (found) AddLive(code_.At(*found));
}

void SourceChainReader::AddCalled(TargetAddress function) {
  AddWithoutFrame(code_.At(function).entry, inner_entry_, 0);
}

void SourceChainReader::AddWithoutFrame(TargetAddress entry, TargetAddress inner, int depth) {
  const CodeInfo& code = code_.At(entry);
  if (depth == kMostJumps || entry == inner || !code.module || !code.module->own || !code.scopes) return;
  const std::vector<TailCall> jumps = TailCallsOf(code.scopes->function);
  // Where there are several, which one it was is not known; then the function's first line has to do.
  if (jumps.size() != 1) return AddLive(code);
  if (const auto next = CalleeOf(jumps[0].site, *code.module)) AddWithoutFrame(*next, inner, depth + 1);
  AddLive(code_.At({jumps[0].address + code.module->bias()}));
}

}  // namespace recrash
