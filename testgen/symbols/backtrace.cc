#include "testgen/symbols/backtrace.h"

#include <algorithm>
#include <csignal>

#include "testgen/symbols/bad_value.h"
#include "testgen/symbols/code_info.h"
#include "testgen/symbols/frame_builder.h"
#include "testgen/symbols/module_set.h"
#include "testgen/symbols/target_memory.h"
#include "testgen/symbols/unwind.h"

namespace recrash {
namespace {

struct Start {
  RegisterFile registers;
  std::span<const uint8_t> fxsave;
  bool exact = true;
};

RegisterFile AllKnown(const Registers& registers) {
  RegisterFile file;
  for (int i = 0; i < abi::kRegisterCount; ++i) file.Set(static_cast<uint64_t>(i), registers.dwarf[i]);
  return file;
}

// `noexcept` unwinds before the program ends: then the frames up to the throw are only in the copy made there.
bool StartsAtThrow(const Report& report) {
  return report.thrown && (report.failure.kind == FailureKind::kException || report.failure.signal == SIGABRT);
}

// The innermost frame of the program's own, with what a replay compares to say that it died there again.
Place FindPlace(const std::vector<Frame>& frames, std::span<const UnwoundFrame> stack, CodeReader& code) {
  Place place;
  for (const Frame& frame : frames) {
    if (!frame.own || frame.inlined) continue;
    // Lines are of the innermost call inlined here, the system's headers aside: that is where people look.
    const auto first = std::find_if(frames.begin(), frames.end(), [&](const Frame& f) {
      return f.pc == frame.pc && (!f.inlined || !f.file.starts_with("/usr/"));
    });
    place.function = frame.linkage_name;
    place.file = first->file;
    place.line = first->line;
    place.pc = frame.pc;
    for (const UnwoundFrame& unwound : stack)
      if (unwound.lookup_pc() == frame.pc.value) {
        place.pc = {unwound.pc};
        break;
      }
    place.function_start = frame.entry;
    if (const auto& range = code.At(frame.pc.value).range) place.function_size = range->size;
    return place;
  }
  return place;
}

}  // namespace

Result<Backtrace> ReadBacktrace(const Report& report, const SymbolOptions& options) {
  auto modules = ModuleSet::Open(report, options);
  if (!modules) return modules.error();
  const Thread* thread = report.failing_thread();
  if (thread == nullptr) return Error{Errc::kDamaged, "the report does not say which thread failed"};

  TargetMemory memory(report, modules->get());
  Start start{AllKnown(thread->registers), thread->registers.fxsave};
  if (StartsAtThrow(report)) {
    memory.Overlay(report.thrown->address, report.thrown->bytes);
    start = {AllKnown(report.thrown->registers), {}, false};
  }
  Unwinder unwinder(**modules, memory);
  const UnwoundStack unwound = unwinder.Walk(start.registers, start.exact, options.max_frames);

  CodeReader code(**modules);
  FrameBuilder builder(code, unwinder, memory, **modules);
  Backtrace backtrace;
  const auto append = [&](const Stack& stack) {
    for (size_t i = 0; i < stack.frames.size(); ++i) builder.Append(stack, i, backtrace.frames);
  };
  append({unwound.inner, start.fxsave});
  const size_t inner_count = backtrace.frames.size();
  append({unwound.outer, {}});
  backtrace.skipped = static_cast<uint32_t>(std::min<uint64_t>(unwound.skipped, UINT32_MAX));
  for (size_t i = 0; i < backtrace.frames.size(); ++i)
    backtrace.frames[i].index = static_cast<uint32_t>(i) + (i < inner_count ? 0 : backtrace.skipped);

  MarkBadValues(report, backtrace.frames);
  backtrace.place = FindPlace(backtrace.frames, unwound.inner, code);
  backtrace.notes = (*modules)->notes();
  for (const std::string& note : unwound.notes) backtrace.notes.push_back(note);
  return backtrace;
}

}  // namespace recrash
