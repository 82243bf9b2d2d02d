#include "agent/store/signature.h"

#include <algorithm>

#include "agent/base/printable_text.h"
#include "agent/base/sha256.h"
#include "agent/base/text.h"

namespace recrash {
namespace {

constexpr size_t kDigits = 32;

std::string KindText(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::kSignal:
      return "signal " + std::to_string(failure.signal);
    case FailureKind::kException:
      return "exception " + failure.exception_type;
    case FailureKind::kReported:
      break;
  }
  return "reported";
}

std::string PlaceText(const WalkedFrame& frame) {
  const Module& module = *frame.module;
  return (module.build_id.empty() ? BaseName(module.path) : module.build_id) + "+" + HexNumber(frame.address);
}

}  // namespace

std::string SignatureOf(const Report& report, const ReadStackWord& elsewhere) {
  return SignatureOf(report, WalkStack(report, kPlacesOfSignature, elsewhere));
}

std::string SignatureOf(const Report& report, const WalkedStack& stack) {
  // Failures that have nothing in common end in the same places of libraries.
  const auto is_of_program = [](const WalkedFrame& frame) { return frame.module->is_program; };
  if (!stack.is_whole && std::ranges::none_of(stack.frames, is_of_program)) return "";
  std::string text = KindText(report.failure) + "\n";
  for (const WalkedFrame& frame : stack.frames) text += PlaceText(frame) + "\n";
  Sha256 hash;
  hash.Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return hash.Finish().substr(0, kDigits);
}

}  // namespace recrash
