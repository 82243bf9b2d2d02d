#include "testgen/suite/source_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/base/printable_text.h"
#include "agent/base/readable_name.h"
#include "agent/base/report_store.h"
#include "agent/base/sha256.h"
#include "agent/base/text.h"
#include "testgen/emit/failure_text.h"

namespace recrash {
namespace {

constexpr size_t kMostFunctions = 16;
constexpr char kDeleted[] = " (deleted)";

std::string KindText(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::kSignal:
      return "signal " + std::to_string(failure.signal);
    case FailureKind::kException:
      return "exception " + DemangleType(failure.exception_type);
    case FailureKind::kReported:
      break;
  }
  return "reported";
}

std::string ProgramName(const Report& report) {
  const std::string& path = report.process.program;
  return BaseName(path.ends_with(kDeleted) ? path.substr(0, path.size() - (sizeof kDeleted - 1)) : path);
}

// Outside main there are frames of the C library's start files, which nobody has debug information of.
bool HasDebugInformation(const Backtrace& backtrace) {
  const auto is_known = [](const Frame& frame) { return frame.own && !frame.function.empty() && !frame.file.empty(); };
  const auto outermost = std::ranges::find_if(backtrace.frames.rbegin(), backtrace.frames.rend(), is_known);
  return outermost != backtrace.frames.rend() &&
         std::all_of(outermost, backtrace.frames.rend(),
                     [&](const Frame& frame) { return !frame.own || is_known(frame); });
}

// gcc does not say where a lambda stands that it has inlined.
std::string WithoutPlaceOfLambda(const std::string& function) {
  constexpr char kCall[] = "{lambda}::operator()";
  return function.ends_with(kCall) ? "operator()" : function;
}

// Functions that compilers make around initialisers of global objects.
bool IsOfCompiler(const std::string& function) {
  return function.starts_with("_GLOBAL__") || function.starts_with("__cxx_global_var_init") ||
         function.starts_with("__static_initialization_and_destruction");
}

std::vector<SourceFrame> DifferentFunctions(const std::vector<SourceFrame>& chain) {
  std::vector<SourceFrame> functions;
  for (const SourceFrame& each : chain) {
    const SourceFrame frame = {WithoutPlaceOfLambda(each.function), each.file};
    const auto is_same = [&](const SourceFrame& f) { return f.function == frame.function && f.file == frame.file; };
    if (IsOfCompiler(frame.function)) continue;
    if (functions.size() < kMostFunctions && std::ranges::none_of(functions, is_same)) functions.push_back(frame);
  }
  return functions;
}

}  // namespace

SourceChain ChainOf(const Report& report, const Backtrace& backtrace) {
  const std::vector<SourceFrame> functions = DifferentFunctions(backtrace.place.chain);
  if (functions.empty() || !HasDebugInformation(backtrace)) return {};
  std::string text = KindText(report.failure) + "\n" + ProgramName(report) + "\n";
  for (const SourceFrame& frame : functions) text += frame.function + "\t" + frame.file + "\n";
  Sha256 hash;
  hash.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  const SourceFrame& innermost = functions.front();
  return {hash.Finish().substr(0, 32), PrintableText(fmt::format("{} in {} at {}", FailureKindText(report.failure),
                                                                 ShortFunction(innermost.function), innermost.file))};
}

void KeepChain(const Crash& crash) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path = fs::absolute(crash.path, error);
  if (error || !fs::equivalent(path.parent_path(), StoreDirectory(), error)) return;
  if (const SourceChain chain = ChainOf(crash.report, crash.backtrace); !chain.digest.empty())
    KeepChain(path, crash.report.signature, chain);
}

}  // namespace recrash
