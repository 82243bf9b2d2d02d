#include "testgen/replay/plan/failure_line.h"

#include <cxxabi.h>
#include <string.h>

#include <cstdlib>
#include <memory>

#include "agent/base/text.h"
#include "agent/elf/symbol_key.h"

namespace recrash {
namespace {

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace

std::string ReadableSymbol(const std::string& linkage_name) {
  const std::string name = NameInKey(linkage_name);
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(::abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return text ? text.get() : name;
}

std::string ReplayFailureText(const Report& report) {
  const Failure& failure = report.failure;
  std::string text = SignalName(failure.signal);
  if (failure.kind == FailureKind::kException) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> type(
        ::abi::__cxa_demangle(failure.exception_type.c_str(), nullptr, nullptr, &status), std::free);
    text = "uncaught " + std::string(type ? type.get() : failure.exception_type.c_str());
    if (!failure.exception_what.empty()) text += " (" + failure.exception_what + ")";
  } else if (failure.kind == FailureKind::kReported) {
    text = "reported \"" + failure.reason + "\"";
  } else if (!failure.abort_message.empty()) {
    std::string message = failure.abort_message;
    while (!message.empty() && message.back() == '\n') message.pop_back();
    text += " (" + message + ")";
  }
  if (!report.replay) return text;
  const Place& place = report.replay->place;
  if (!place.function.empty()) text += " in " + ReadableSymbol(place.function);
  if (!place.file.empty()) {
    text += " at " + BaseName(place.file);
    if (place.line) text += ":" + std::to_string(place.line);
  }
  return text;
}

}  // namespace recrash
