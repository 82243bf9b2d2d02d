#include "testgen/symbols/twin.h"

#include <algorithm>

#include "agent/base/text.h"
#include "agent/elf/elf_notes.h"
#include "testgen/symbols/place_copies.h"
#include "testgen/symbols/source_chain.h"

namespace recrash {
namespace {

// A deeper stack is that of an endless recursion.
constexpr size_t kMostCalls = 512;

bool IsLambda(std::string_view linkage_name) {
  return linkage_name.find("$_") != std::string_view::npos || linkage_name.find("Ul") != std::string_view::npos;
}

}  // namespace

Result<Report> TwinFile(const std::string& path) {
  const Result<ElfFacts> elf = ReadElf(path);
  if (!elf) return elf.error();
  Report report;
  report.process.program = path;
  Module& module = report.modules.emplace_back();
  module.path = path;
  module.build_id = elf->build_id;
  module.size = UINT64_MAX;
  module.is_program = true;
  return report;
}

bool IsOfSource(const LiveFunction& function) {
  return function.declared.line != 0 && !IsSystemsFile(function.declared.file) && !IsLibraryFunction(function.function);
}

bool IsSameDeclaration(const LiveFunction& a, const LiveFunction& b) {
  if (a.declared.line != b.declared.line || BaseName(a.declared.file) != BaseName(b.declared.file)) return false;
  return a.linkage_name == b.linkage_name || (IsLambda(a.linkage_name) && IsLambda(b.linkage_name));
}

Result<std::unique_ptr<Twin>> Twin::Open(const Report& process, const SymbolOptions& options) {
  Result<Symbols> symbols = Symbols::Open(process, options);
  if (!symbols) return symbols.error();
  return std::unique_ptr<Twin>(new Twin(process, *std::move(symbols)));
}

bool Twin::IsDeclaredAs(TargetAddress entry, const Frame& frame) {
  const CodeInfo& code = symbols_.code().At(entry);
  if (!code.scopes || code.live.empty() || code.entry != entry) return false;
  LiveFunction wanted;
  wanted.linkage_name = frame.linkage_name;
  wanted.declared = {frame.declared_file, frame.declared_line};
  const LiveFunction& found = code.live.back();
  // A constructor has one declaration and several symbols.
  if (!IsLambda(frame.linkage_name)) wanted.linkage_name = found.linkage_name;
  return IsSameDeclaration(wanted, found);
}

std::vector<TargetAddress> Twin::FunctionsLike(const Frame& frame) {
  LoadedModule& program = *symbols_.modules().program();
  std::vector<TargetAddress> found;
  const auto add = [&](uint64_t address) {
    const TargetAddress entry = {address + program.bias()};
    if (std::ranges::find(found, entry) == found.end() && IsDeclaredAs(entry, frame)) found.push_back(entry);
  };
  for (const uint64_t address : program.names->FunctionsNamed(frame.linkage_name)) add(address);
  if (!found.empty() || !IsLambda(frame.linkage_name)) return found;
  for (const ElfSymbol& symbol : program.names->symbols())
    if (symbol.is_function && IsLambda(symbol.name)) add(symbol.address);
  return found;
}

std::vector<TwinEntry> Twin::EntriesOf(const std::vector<Frame>& frames) {
  std::vector<TwinEntry> entries;
  for (const Frame& frame : frames) {
    if (!frame.own || frame.linkage_name.empty() || frame.declared_line == 0 || IsSystemsFile(frame.declared_file))
      continue;
    const std::vector<TargetAddress> found = FunctionsLike(frame);
    if (found.size() == 1) entries.push_back({frame.index, found.front()});
  }
  return entries;
}

const std::vector<TwinCall>& Twin::CallsUpTo(TargetAddress outer_sp) {
  calls_.clear();
  readers_.clear();
  Result<std::unique_ptr<FailingStack>> stack = UnwindFailingStack(process_, symbols_);
  if (!stack) return calls_;
  stack_ = *std::move(stack);
  const std::vector<UnwoundFrame>& all = stack_->unwound.inner;
  const auto outer = std::ranges::find_if(all, [&](const UnwoundFrame& frame) { return frame.cfa == outer_sp + 8; });
  const auto count = static_cast<size_t>(outer - all.begin()) + 1;
  if (outer == all.end() || count > kMostCalls) return calls_;
  calls_stack_ = {all, stack_->fxsave, {}};
  TargetAddress low = *all.front().registers.sp();
  for (size_t i = 0; i < count; ++i) {
    readers_.push_back(
        std::make_unique<ValueReader>(symbols_.code(), stack_->unwinder, stack_->memory, calls_stack_, i));
    const CodeInfo& code = readers_.back()->code();
    if (!code.live.empty()) calls_.push_back({&code.live.back(), readers_.back().get(), low, all[i].cfa});
    low = all[i].cfa;
  }
  return calls_;
}

}  // namespace recrash
