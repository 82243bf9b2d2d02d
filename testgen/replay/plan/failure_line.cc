#include "testgen/replay/plan/failure_line.h"

#include "agent/base/readable_name.h"
#include "agent/base/text.h"
#include "agent/elf/symbol_key.h"

namespace recrash {
std::string ReadableSymbol(const std::string& linkage_name) { return Demangle(NameInKey(linkage_name)); }

std::string ReplayFailureText(const TestReport& report) {
  const Failure& failure = report.failure;
  std::string text = SignalName(failure.signal);
  if (failure.kind == FailureKind::kException) {
    text = "uncaught " + DemangleType(failure.exception_type);
    if (!failure.exception_what.empty()) text += " (" + failure.exception_what + ")";
  } else if (failure.kind == FailureKind::kReported) {
    text = "reported \"" + failure.reason + "\"";
  } else if (!failure.abort_message.empty()) {
    std::string message = failure.abort_message;
    while (!message.empty() && message.back() == '\n') message.pop_back();
    text += " (" + message + ")";
  }
  const Place& place = report.replay.place;
  if (!place.function.empty()) text += " in " + ReadableSymbol(place.function);
  if (!place.file.empty()) {
    text += " at " + BaseName(place.file);
    if (place.line) text += ":" + std::to_string(place.line);
  }
  return text;
}

}  // namespace recrash
