#include "testgen/bug_report/bug_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "testgen/emit/failure_text.h"
#include "testgen/suite/holdings.h"

namespace recrash {
namespace {

constexpr size_t kLongestTitle = 120;
constexpr size_t kLongestLine = 300;
constexpr size_t kLongestText = 4096;  // that is looked at for it
constexpr size_t kMostFrames = 40;     // more is a recursion
constexpr size_t kOutermost = 10;      // of these
constexpr uint64_t kNearNull = 64 * 1024;
constexpr std::string_view kHome = "/home/";

bool IsOfName(char c) { return std::string_view("/ \t\n:;,'\"`()[]{}<>|&*?").find(c) == std::string_view::npos; }

bool EndsName(const std::string& text, size_t at) { return at >= text.size() || !IsOfName(text[at]); }

void ReplaceHome(const std::string& home, std::string* text) {
  for (size_t at = 0; (at = text->find(home, at)) != text->npos; ++at)
    if ((at == 0 || EndsName(*text, at - 1)) && EndsName(*text, at + home.size())) text->replace(at, home.size(), "~");
}

std::vector<std::string> HomesOf(const Report& report) {
  std::vector<std::string> homes = {"/root"};
  if (const char* home = std::getenv("HOME")) homes.emplace_back(home);
  for (const std::string& variable : EnvironmentIn(report))
    if (variable.starts_with("HOME=")) homes.push_back(variable.substr(5));
  return homes;
}

// Text of a report on one line, which a terminal and a tracker show as it is, without homes.
class Words {
 public:
  explicit Words(const Report& report) : homes_(HomesOf(report)) {}

  std::string operator()(const std::string& text, size_t longest = kLongestLine) const {
    std::string line = PrintableText(WithoutHomes(text.substr(0, kLongestText), homes_));
    if (line.size() <= longest) return line;
    line.resize(longest);
    // Not in the middle of a character.
    while (!line.empty() && (line.back() & 0x80)) line.pop_back();
    return line + "...";
  }

 private:
  std::vector<std::string> homes_;
};

std::string ProgramText(const Process& process) {
  return BaseName(process.program) + (process.version.empty() ? "" : " " + process.version);
}

std::string Where(const Crash& crash) {
  return crash.no_backtrace ? FailureText(crash.report) : FailureText(crash.report, crash.backtrace);
}

// The address is a value of the program's unless it is a null pointer's, or nearly.
std::string AddressText(const Failure& failure) {
  const bool has_one = failure.kind == FailureKind::kSignal && (failure.signal == SIGSEGV || failure.signal == SIGBUS);
  return has_one && failure.address.value < kNearNull ? fmt::format("    address   {:#x}\n", failure.address.value)
                                                      : "";
}

std::string FrameText(const Report& report, const Frame& frame, const Words& words) {
  if (frame.is_signal_frame) return fmt::format("    #{:<3} signal\n", frame.index);
  const Module* module = report.FindModule(frame.pc);
  const std::string offset =
      module ? fmt::format("{}+{:#x}", BaseName(module->path), frame.pc - module->base) : "not in a module";
  const std::string place = frame.file.empty() ? offset : fmt::format("{}:{}", frame.file, frame.line);
  return fmt::format("    #{:<3} {}\n", frame.index,
                     words(frame.function.empty() ? offset : fmt::format("{}  {}", frame.function, place)));
}

std::string FramesText(const Crash& crash, const Words& words) {
  if (crash.no_backtrace) {
    const std::string& why = crash.no_backtrace->message;
    return "    frames are not known: " + words(why.substr(0, why.find('\n'))) + "\n";
  }
  const std::vector<Frame>& frames = crash.backtrace.frames;
  const bool fold = frames.size() > kMostFrames || crash.backtrace.skipped > 0;
  const size_t outer = fold ? std::min(kOutermost, frames.size()) : 0;
  const size_t inner = fold ? std::min(kMostFrames - kOutermost, frames.size() - outer) : frames.size();
  std::string text;
  for (size_t i = 0; i < inner; ++i) text += FrameText(crash.report, frames[i], words);
  if (fold) text += fmt::format("    ... {} more frames\n", frames.size() - inner - outer + crash.backtrace.skipped);
  for (size_t i = frames.size() - outer; i < frames.size(); ++i) text += FrameText(crash.report, frames[i], words);
  return text;
}

std::string BuildText(const Report& report, const Words& words) {
  const Process& process = report.process;
  const Module* program = report.program();
  std::string text = fmt::format("    program   {}\n", words(process.program));
  if (!process.version.empty()) text += fmt::format("    version   {}\n", words(process.version));
  text += fmt::format("    build-id  {}\n", program && !program->build_id.empty() ? words(program->build_id) : "none");
  text += fmt::format("    crashed   {}\n", TimeText(process.crashed_at));
  return text;
}

// Nothing of a report stands in them as it is: people paste them into a shell.
std::string CommandsText(const Crash& crash, const std::string& bundle) {
  const std::string name = ReportName(HarmlessName(bundle));
  return fmt::format(
      "    recrash reproduce {0}.zip --program PATH/{1} -o {0}-tests\n"
      "    {0}-tests/build/crash_test\n",
      name, HarmlessName(BaseName(crash.report.process.program)));
}

}  // namespace

std::string WithoutHomes(std::string text, const std::vector<std::string>& homes) {
  std::vector<std::string> longest_first = homes;
  std::ranges::sort(longest_first, std::ranges::greater(), &std::string::size);
  for (std::string home : longest_first) {
    while (home.ends_with('/')) home.pop_back();
    if (home.starts_with('/')) ReplaceHome(home, &text);
  }
  for (size_t at = 0; (at = text.find(kHome, at)) != text.npos; ++at) {
    size_t end = at + kHome.size();
    while (end < text.size() && IsOfName(text[end])) ++end;
    if (end > at + kHome.size()) text.replace(at, end - at, "~");
  }
  return text;
}

std::string HarmlessName(const std::string& text) {
  std::string name = text.substr(0, 200);
  for (char& c : name) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_letter && c != '.' && c != '-' && c != '_') c = '_';
  }
  // Neither hidden nor an option.
  if (name.empty() || name[0] == '.' || name[0] == '-') name.insert(0, 1, '_');
  return name;
}

BugReport WriteBugReport(const Crash& crash, const std::string& bundle) {
  const Report& report = crash.report;
  const Words words(report);
  BugReport bug;
  bug.title = words(ProgramText(report.process) + ": " + Where(crash), kLongestTitle);
  bug.text = fmt::format(
      "The program failed:\n\n    {}\n{}\n{}\n{}\n"
      "The file {} holds the report of recrash. These commands make tests of it that fail in the same way,\n"
      "with the program of that build-id, or a later build of it:\n\n{}",
      words(Where(crash)), AddressText(report.failure), FramesText(crash, words), BuildText(report, words),
      HarmlessName(bundle), CommandsText(crash, bundle));
  return bug;
}

}  // namespace recrash
