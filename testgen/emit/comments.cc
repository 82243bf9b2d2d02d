#include "testgen/emit/comments.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/base/readable_name.h"
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

// The next frame inwards of the user's code: what `frame` called.
const Frame* CalledFrame(const Backtrace& backtrace, const Frame& frame) {
  const Frame* called = nullptr;
  for (const Frame& other : backtrace.frames) {
    if (other.index >= frame.index) break;
    if (IsUsersCode(other)) called = &other;
  }
  return called;
}

std::string Named(const std::string& name, uint32_t number) {
  return name.empty() ? fmt::format("argument {}", number) : fmt::format("`{}`", name);
}

std::string WithoutTabs(std::string text) {
  for (size_t at; (at = text.find('\t')) != std::string::npos;) text.replace(at, 1, "  ");
  while (text.ends_with('\r') || text.ends_with(' ')) text.pop_back();
  return text;
}

bool IsNearNull(const std::vector<uint8_t>& bytes) {
  constexpr size_t kPage = 12;  // bits
  uint64_t value = 0;
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof value), reinterpret_cast<uint8_t*>(&value));
  return value >> kPage == 0;
}

// Only addresses: that two integers are both 1 says nothing, nor that two pointers are both null.
std::string HandedOn(const Frame& frame, const Frame& called) {
  for (const Parameter& inner : called.parameters) {
    if (!inner.complete || inner.is_receiver || !inner.type.is_address() || IsNearNull(inner.bytes)) continue;
    for (const Parameter& outer : frame.parameters) {
      if (!outer.complete || outer.is_receiver || outer.bytes != inner.bytes || !outer.type.is_address()) continue;
      const std::string as = outer.name == inner.name ? "" : fmt::format(" as {}", Named(inner.name, inner.number));
      return fmt::format("Hands {} on to frame {}{}.", Named(outer.name, outer.number), called.index, as);
    }
  }
  return "";
}

// What the frame has to do with the failure.
std::vector<std::string> WhyUseful(const Backtrace& backtrace, const Frame& frame) {
  std::vector<std::string> why;
  const Frame* called = CalledFrame(backtrace, frame);
  const std::string handed_on = called ? HandedOn(frame, *called) : "";
  if (frame.holds_bad_value) why.emplace_back("An argument is the bad address itself.");
  if (!called) {
    why.emplace_back("The function that failed: what it was given and what it made of it are both here.");
  } else if (!handed_on.empty()) {
    why.push_back(handed_on);
  } else if (called->holds_bad_value) {
    why.push_back(fmt::format("Hands frame {} the bad address.", called->index));
  } else if (called->inlined) {
    why.push_back(fmt::format("Frame {} is inlined here: what failed is in this function's own code.", called->index));
  } else if (!frame.function.empty() && frame.linkage_name == called->linkage_name) {
    why.push_back(fmt::format("The same function as frame {}, one recursion further out.", called->index));
  } else {
    why.push_back(fmt::format("Calls frame {}: it fails when that one does, and shows what led there.", called->index));
  }
  const bool from_dwarf =
      std::ranges::any_of(frame.words, [](const ReplayWord& word) { return word.source == ValueSource::kDwarf; });
  if (from_dwarf) why.push_back("Its arguments come from debug information: they may have changed since entry.");
  return why;
}

// Several sentences, wrapped.
std::string Wrapped(std::string_view text) {
  std::string out, line = "//";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (line.size() + 1 + word.size() > kColumns && line != "//") {
      out += line + '\n';
      line = "//";
    }
    line += fmt::format(" {}", word);
    at = end + 1;
  }
  // Wrapping may have put a backslash at a line's end.
  out += line + '\n';
  for (size_t at = out.find("\\\n"); at != std::string::npos; at = out.find("\\\n", at)) out.insert(at + 1, ".");
  return out;
}

// "`in`", "`in` and `names`"
std::string StreamNames(const Frame& frame) {
  std::string out;
  for (size_t i = 0; i < frame.streams.size(); ++i) {
    const char* before = i == 0 ? "" : i + 1 < frame.streams.size() ? ", " : " and ";
    out += before + StreamName(frame, frame.streams[i]);
  }
  return out;
}

std::string NeededFiles(const Report& report) {
  std::vector<std::string> names;
  for (const Input& input : report.inputs)
    if (!input.held()) names.push_back(fmt::format("`{}`", input.path));
  if (names.empty())
    return fmt::format("files in `{}` that the report does not hold", report.process.working_directory);
  return fmt::format("{}, which the report does not hold", fmt::join(names, ", "));
}

// By the program that crashed, or in its second run.
std::string WhereFrom(const TestReport& report, const Frame& frame) {
  const EntryState* state = report.replay.FindEntryState(frame.index);
  if (state && state->origin == Origin::kDerived)
    return fmt::format(", which a replay of frame {} came to", state->outer);
  if (!state || state->copied_depth == 0) return ", which was recorded";
  return fmt::format(": that of the crash, with what its arguments reached to depth {} as it was then",
                     state->copied_depth);
}

// The source lines around the failing one, which is marked.
std::string SourceText(const SourceExcerpt& source) {
  std::string out;
  for (size_t i = 0; i < source.lines.size(); ++i) {
    const uint32_t number = source.first + static_cast<uint32_t>(i);
    const std::string line = CommentText(WithoutTabs(source.lines[i]), 100);
    out += fmt::format("//  {}{:>5} | {}", number == source.failing ? '>' : ' ', number, line);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  return out + "//\n";
}

std::string ThrownText(const RenderedValue& thrown) {
  std::string out = "// Thrown   ";
  if (thrown.lines.empty()) return out + CommentText(WithoutUnnamedNamespaces(thrown.line)) + '\n';
  for (const std::string& line : thrown.lines) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (&line != thrown.lines.data()) out += "//" + std::string(10 + indent, ' ');
    out += CommentText(WithoutUnnamedNamespaces(line.substr(indent))) + '\n';
  }
  return out;
}

// The program's own calls, and where it stands now if that is in a library.
std::string ThreadText(const ThreadTrace& trace) {
  constexpr size_t kMostCalls = 4;
  std::string out = fmt::format("// Thread {}", trace.id);
  if (!trace.name.empty()) out += fmt::format(" ({})", CommentText(trace.name, 20));
  const auto is_users = [](const ThreadTrace::Call& call) {
    return call.own && !call.function.empty() && !PlainFunction(call.function).starts_with("std::");
  };
  if (!trace.calls.empty() && !is_users(trace.calls[0]) && !trace.calls[0].function.empty())
    out += ", in " + CommentText(PlainFunction(trace.calls[0].function), 60);
  out += '\n';
  size_t count = 0;
  for (const ThreadTrace::Call& call : trace.calls) {
    if (!is_users(call)) continue;
    if (++count > kMostCalls) return out + "//   ...\n";
    out += fmt::format("//   {}  {}:{}\n", CommentText(PlainFunction(call.function), 70),
                       CommentText(BaseName(call.file), 40), call.line);
  }
  return out;
}

std::string AroundText(const Surroundings& around) {
  constexpr size_t kMostThreads = 8;
  std::string out;
  for (size_t i = 0; i < std::min(around.threads.size(), kMostThreads); ++i) out += ThreadText(around.threads[i]);
  if (around.threads.size() > kMostThreads)
    out += fmt::format("// ... {} more threads ...\n", around.threads.size() - kMostThreads);
  for (size_t i = 0; i < std::min(around.locks.size(), kMostThreads); ++i)
    out += fmt::format("// Lock: {}\n", CommentText(WithoutUnnamedNamespaces(around.locks[i]), 110));
  return out.empty() ? out : "//\n" + out;
}

}  // namespace

std::string HeadComment(const Report& report, const Backtrace& backtrace, const std::string& report_name,
                        bool all_enabled) {
  std::string out = fmt::format("// {}\n//\n", CommentText(FailureText(report, backtrace), 300));
  const Process& process = report.process;
  std::string program = CommentText(BaseName(process.program));
  if (!process.version.empty()) program += fmt::format(", version {}", CommentText(process.version, 80));
  out += fmt::format("// Program  {}\n", program);
  out += fmt::format("// Crashed  {}\n", TimeText(process.crashed_at));
  out += fmt::format("// Report   {}\n", CommentText(report_name));
  if (backtrace.around.thrown) out += ThrownText(*backtrace.around.thrown);
  if (const std::string& last = report.failure.replaced_by; !last.empty())
    out += fmt::format("// Then     a handler caught it and threw {}\n", CommentText(DemangleType(last)));
  for (const std::string& flipped : backtrace.flipped)
    out += Wrapped("Hardware " + CommentText(WithoutUnnamedNamespaces(flipped), 400));
  out += "//\n";
  if (backtrace.around.source) out += SourceText(*backtrace.around.source);

  const size_t all = backtrace.frames.size();
  const size_t head = all > kMostFrames ? kMostFrames / 2 : all;
  for (size_t i = 0; i < head; ++i) out += FrameLine(backtrace.frames[i]);
  if (head < all) {
    const size_t tail = kMostFrames - head;
    out += fmt::format("//   ... {} more frames ...\n", all - head - tail + backtrace.skipped);
    for (size_t i = all - tail; i < all; ++i) out += FrameLine(backtrace.frames[i]);
  }
  out += AroundText(backtrace.around);
  out += R"(//
// Each test calls one of these functions again, with its arguments and the memory of the crash (from the report beside
// this file), and fails as long as the call fails, in whatever way. Made by recrash; yours to edit and keep.
)";
  if (!all_enabled)
    out +=
        R"(// Disabled tests are for the debugger: a fix may well leave them red. `recrash verify --fixed` enables what turns green.
)";
  return out;
}

std::string StreamName(const Frame& frame, const ReplayStream& stream) {
  const auto found = std::ranges::find(frame.parameters, stream.parameter, &Parameter::number);
  return CommentText(Named(found == frame.parameters.end() ? "" : found->name, stream.parameter));
}

std::string TestComment(const TestReport& report, const Backtrace& backtrace, const Frame& frame,
                        const EmittedTest& test, bool verified) {
  const Start& start = test.start;
  std::string what = fmt::format("Frame {}: {}", frame.index, PlainFunction(frame.function));
  const std::string file = frame.declared_file.empty() ? frame.file : frame.declared_file;
  if (!file.empty()) {
    const uint32_t line = frame.declared_file.empty() ? frame.line : frame.declared_line;
    what += fmt::format(", {}:{}", BaseName(file), line);
    if (!frame.declared_file.empty() && frame.line != 0 && frame.line != line)
      what += fmt::format(", stood at line {}", frame.line);
  }
  std::vector<std::string> why = WhyUseful(backtrace, frame);
  if (frame.inlined)
    why.emplace_back(frame.entry.value != 0
                         ? "Is inlined in the program: this test calls the copy that the program has out of line."
                         : "Is inlined in the program, which has no copy of it: this test runs in the twin.");
  if (start.from_entry) why.push_back(fmt::format("Starts from the memory of its entry{}.", WhereFrom(report, frame)));
  if (start.rewind)
    why.push_back(
        fmt::format("Reproduces with {} rewound: that nothing had been read before the call is an assumption.",
                    StreamNames(frame)));
  if (verified && !start.sealed) why.push_back(fmt::format("Needs files as they were: {}.", NeededFiles(report)));
  if (test.enabled && !test.doubt.empty())
    why.push_back(fmt::format("The outermost test of this crash; a fix may leave it red: {}.", test.doubt));
  std::string out = Wrapped(CommentText(what + ".", 400));
  if (!why.empty()) out += Wrapped(CommentText(fmt::format("{}", fmt::join(why, " ")), 800));
  if (!test.enabled) out += fmt::format("{}{}\n", kDisabledReason, CommentText(test.doubt, 300));
  return out;
}

}  // namespace recrash
