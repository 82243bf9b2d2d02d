#include "testgen/emit/failure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <string_view>

#include "agent/base/readable_name.h"
#include "agent/base/text.h"
#include "testgen/symbols/source_chain.h"

namespace recrash {
std::string ShortFunction(const std::string& demangled) {
  const std::string name = PlainFunction(demangled);
  const size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

std::string FailureKindText(const Failure& failure) {
  const auto with = [](const std::string& what, const std::string& why) {
    return why.empty() ? what : fmt::format("{} ({})", what, why);
  };
  switch (failure.kind) {
    case FailureKind::kException:
      return with(
          (failure.replaced_by.empty() ? "uncaught " : "replaced ") +
              (failure.exception_type.empty() ? std::string("exception") : DemangleType(failure.exception_type)),
          failure.exception_what);
    case FailureKind::kReported:
      return with("RECRASH_REPORT", failure.reason);
    case FailureKind::kSignal:
      break;
  }
  std::string message = failure.abort_message;
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return with(SignalName(failure.signal), message);
}

bool IsUsersCode(const Frame& frame) {
  if (!frame.own || frame.function.empty()) return false;
  return !IsLibraryFunction(SourceName(frame.function));
}

const Frame* FailingFrame(const Backtrace& backtrace) {
  const auto& frames = backtrace.frames;
  auto found = std::ranges::find_if(frames, IsUsersCode);
  if (found == frames.end()) found = std::ranges::find_if(frames, &Frame::own);
  if (found == frames.end()) found = frames.begin();
  return found == frames.end() ? nullptr : &*found;
}

std::string FailureText(const Report& report, const Backtrace& backtrace) {
  const Frame* frame = FailingFrame(backtrace);
  if (!frame || frame->function.empty()) return FailureText(report);
  std::string text = fmt::format("{} in {}", FailureKindText(report.failure), ShortFunction(frame->function));
  if (!frame->file.empty()) text += fmt::format(" at {}:{}", BaseName(frame->file), frame->line);
  return text;
}

std::string FailureText(const Report& report) {
  const std::string kind = FailureKindText(report.failure);
  const TargetAddress pc = report.failure.pc;
  const Module* module = report.FindModule(pc);
  if (!module) return fmt::format("{} at address {:#x}", kind, pc.value);
  return fmt::format("{} in {}+{:#x}", kind, BaseName(module->path), pc - module->base);
}

std::string TimeText(int64_t unix_nanoseconds) {
  const std::time_t seconds = unix_nanoseconds / 1'000'000'000;
  std::tm utc{};
  if (!gmtime_r(&seconds, &utc)) return "time not known";
  char text[64];
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
  return std::string(text, length);
}

}  // namespace recrash
