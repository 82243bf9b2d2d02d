#include "testgen/emit/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "agent/base/text.h"
#include "testgen/emit/failure_text.h"
#include "testgen/emit/text.h"

namespace recrash {
namespace {

constexpr size_t kMostFrames = 40;  // of the back-trace; more than that is a recursion

std::string ShortArguments(const Frame& frame) {
  std::string out;
  if (!frame.own) return "...";
  for (const Parameter& parameter : frame.parameters) {
    if (parameter.is_receiver || parameter.artificial) continue;
    const std::string value = parameter.complete ? CommentText(WithoutUnnamedNamespaces(parameter.rendered), 24) : "?";
    const std::string name = CommentText(parameter.name, 24);
    const std::string text = fmt::format("{}{}{}", name, name.empty() ? "" : "=", value);
    if (out.size() + text.size() > 80) return out + ", ...";
    out += (out.empty() ? "" : ", ") + text;
  }
  return out;
}

std::string FrameLine(const Frame& frame) {
  std::string line = fmt::format("//   #{:<3} ", frame.index);
  if (frame.function.empty()) {
    line += fmt::format("{:#x} in {}", frame.pc.value, CommentText(BaseName(frame.module), 80));
  } else {
    line += fmt::format("{}({})", CommentText(PlainFunction(frame.function), 80), ShortArguments(frame));
  }
  if (line.size() > 90) line += "\n//       ";
  if (!frame.file.empty()) line += fmt::format("  {}:{}", CommentText(BaseName(frame.file), 60), frame.line);
  if (frame.inlined) line += "  [inlined]";
  return line + '\n';
}

}  // namespace

std::string HeadComment(const Report& report, const Backtrace& backtrace, const std::string& report_name) {
  std::string out = fmt::format("// {}\n//\n", CommentText(FailureText(report, backtrace), 300));
  const Process& process = report.process;
  std::string program = CommentText(process.program);
  if (!process.version.empty()) program += fmt::format(", version {}", CommentText(process.version, 80));
  out += fmt::format("// Program  {}\n", program);
  out += fmt::format("// Crashed  {}\n", TimeText(process.crashed_at));
  out += fmt::format("// Report   {}\n//\n", CommentText(report_name));

  const size_t all = backtrace.frames.size();
  const size_t head = all > kMostFrames ? kMostFrames / 2 : all;
  for (size_t i = 0; i < head; ++i) out += FrameLine(backtrace.frames[i]);
  if (head < all) {
    const size_t tail = kMostFrames - head;
    out += fmt::format("//   ... {} more frames ...\n", all - head - tail + backtrace.skipped);
    for (size_t i = all - tail; i < all; ++i) out += FrameLine(backtrace.frames[i]);
  }
  out += R"(//
// Each test calls one of these functions again, with its arguments and the memory of the crash (from the report beside
// this file), and fails as long as the recorded failure happens again. Made by recrash; yours to edit and keep.
)";
  return out;
}

}  // namespace recrash
