#include "testgen/emit/failure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <string_view>

#include "agent/base/readable_name.h"
#include "agent/base/text.h"

namespace recrash {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";

bool At(std::string_view text, size_t at, std::string_view word) { return text.substr(at, word.size()) == word; }

bool IsWord(char c) { return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_'; }

// Past `operator` and its sign when one stands at `at`; else `at`.
size_t PastOperator(std::string_view name, size_t at) {
  if (!At(name, at, "operator") || (at > 0 && IsWord(name[at - 1]))) return at;
  size_t end = at + 8;
  if (end < name.size() && IsWord(name[end])) return at;
  if (At(name, end, "()")) return end + 2;
  while (end < name.size() && std::string_view("<>=+-*/%^&|~!,[]").find(name[end]) != std::string_view::npos) ++end;
  return end;
}

// "f(int)::Local::g(char) const" as "f(int)::Local::g": without the last parameter list and what follows it.
std::string_view WithoutParameters(std::string_view name) {
  if (const size_t clone = name.find(" [clone"); clone != std::string_view::npos) name = name.substr(0, clone);
  for (const std::string_view suffix : {" noexcept", " &&", " &", " volatile", " const"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  if (!name.ends_with(')')) return name;
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    depth += name[i] == ')' ? 1 : name[i] == '(' ? -1 : 0;
    if (depth > 0) continue;
    const bool part_of_name = i == 0 || At(name, i, kAnonymous) || (i >= 8 && At(name, i - 8, "operator"));
    return part_of_name ? name : name.substr(0, i);
  }
  return name;
}

// Drops template arguments, parameters of enclosing functions, and a return type in front.
std::string Reduced(std::string_view name) {
  std::string out;
  int depth = 0;
  bool after_operator = false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (depth == 0 && At(name, i, kAnonymous)) {
      out += kAnonymous;
      i += kAnonymous.size() - 1;
    } else if (const size_t end = PastOperator(name, i); depth == 0 && end != i) {
      out += name.substr(i, end - i);
      i = end - 1;
      after_operator = true;
    } else if (c == '<' || c == '(') {
      ++depth;
    } else if (c == '>' || c == ')') {
      depth = depth > 0 ? depth - 1 : 0;
    } else if (depth == 0 && c == ' ' && !after_operator) {
      out.clear();
    } else if (depth == 0) {
      out += c;
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace

std::string WithoutUnnamedNamespaces(std::string text) {
  for (size_t at; (at = text.find(kAnonymous)) != std::string::npos;) {
    const size_t length = kAnonymous.size();
    text.erase(at, text.compare(at + length, 2, "::") == 0 ? length + 2 : length);
  }
  return text;
}

std::string PlainFunction(const std::string& demangled) {
  return WithoutUnnamedNamespaces(Reduced(WithoutParameters(demangled)));
}

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
      return with("uncaught " + (failure.exception_type.empty() ? std::string("exception")
                                                                : DemangleType(failure.exception_type)),
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
  const std::string name = PlainFunction(frame.function);
  return !name.starts_with("std::") && !name.starts_with("__gnu_cxx::");
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
