#include "testgen/flips/flips.h"

#include <fmt/format.h>

#include <algorithm>

#include "testgen/symbols/dwarf/plain_function.h"
#include "testgen/symbols/symbols.h"

namespace recrash {
namespace {

// A call that was inlined has no return address of its own: the function around it has.
const Frame* InnermostFunction(const Backtrace& backtrace) {
  const auto frame = std::ranges::find_if(backtrace.frames, [](const Frame& f) {
    return f.own && !f.inlined && !f.is_signal_frame && f.entry_sp.value != 0 && !f.function.empty();
  });
  return frame == backtrace.frames.end() ? nullptr : &*frame;
}

std::string Whose(const Backtrace& backtrace, const Cure& cure) {
  if (!cure.made_again_by) return "a fault of the machine's memory is likely";
  const auto frame = std::ranges::find(backtrace.frames, *cure.made_again_by, &Frame::index);
  const std::string name = frame == backtrace.frames.end() ? "the program" : PlainFunction(frame->function);
  return fmt::format("{}, called again, makes another such pointer: the program does it, not the machine", name);
}

}  // namespace

std::optional<std::string> ProvedFlip(const TestReport& report, const Backtrace& backtrace,
                                      const SymbolOptions& symbols, const std::vector<ReplayToFailure>& replays,
                                      const VerifyOptions& options) {
  const Frame* failing = InnermostFunction(backtrace);
  const auto address = failing == nullptr ? std::nullopt : report.ReadWord(failing->entry_sp);
  if (!address || replays.empty() || report.failure.kind != FailureKind::kSignal) return std::nullopt;
  const Result<Symbols> opened = Symbols::Open(report, symbols);
  if (!opened) return std::nullopt;
  const std::optional<FlippedPointer> pointer = FindFlippedPointer(report, *opened, backtrace.frames);
  if (!pointer) return std::nullopt;
  const ReturnOfFailing where = {failing->index, {*address}, failing->entry_sp};
  const Result<Cure> cure = PutRight(report, *pointer, where, replays, options);
  if (!cure || !cure->returns) return std::nullopt;
  return fmt::format("bit {} of the {} in {} {} ({:#x} in place of {:#x}): with it put right {} returns; {}",
                     pointer->bit, pointer->is_function ? "address of a function" : "pointer", pointer->place,
                     cure->made_again_by ? "is wrong" : "was flipped", pointer->value, pointer->right(),
                     PlainFunction(failing->function), Whose(backtrace, *cure));
}

}  // namespace recrash
