// recrash why: where the bad value comes from.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/json.h"
#include "integrations/cli/terminal.h"
#include "integrations/cli/tests.h"
#include "integrations/pages/markup.h"
#include "integrations/pages/why_page.h"
#include "integrations/pages/why_sarif.h"
#include "integrations/pages/written_page.h"
#include "testgen/explain/explain.h"
#include "testgen/symbols/dwarf/plain_function.h"

namespace recrash::cli {
namespace fs = std::filesystem;
namespace {

// The past of the outermost frame is the longest.
Result<ReplayFrame> FrameToReplay(const Suite& suite, std::optional<uint32_t> wanted) {
  const ReplayFrame* chosen = nullptr;
  for (const ReplayFrame& frame : suite.report.replay.frames)
    if (!frame.needs_twin() && (!wanted || frame.index == *wanted)) chosen = &frame;
  if (chosen) return *chosen;
  return Error{Errc::kMissing, (wanted ? fmt::format("frame {} does not reproduce", *wanted)
                                       : std::string("no frame reproduces without a twin")) +
                                   "\nrecrash reproduce says what became of each"};
}

std::string PlaceText(const explain::Link& link) {
  if (link.line == 0) return "";
  return PrintableText(BaseName(link.file)) + ":" + std::to_string(link.line);
}

void PrintLink(const explain::Link& link) {
  const std::string indent(2 + 2 * static_cast<size_t>(link.depth), ' ');
  const std::string function = PrintableText(link.function);
  fmt::print("{}{}{}\n", indent, function.empty() ? "" : Coloured(Colour::kBold, function) + ": ",
             PrintableText(explain::ClauseOf(link)));
  if (link.line != 0)
    fmt::print("{}    {}  {}\n", indent, Coloured(Colour::kDim, PlaceText(link)), PrintableText(link.source));
}

nlohmann::ordered_json LinkJson(const explain::Link& link) {
  return {{"kind", explain::LinkText(link.kind)},
          {"function", link.function},
          {"file", link.file},
          {"line", link.line},
          {"text", link.text},
          {"value", link.value},
          {"source", link.source},
          {"depth", link.depth},
          {"undone", link.undone ? nlohmann::ordered_json(*link.undone) : nlohmann::ordered_json()}};
}

nlohmann::ordered_json ExplanationJson(const explain::Explanation& explanation) {
  nlohmann::ordered_json json = {{"failure", explanation.failure},          {"began", explanation.began},
                                 {"from_entry", explanation.is_exact},      {"replays", explanation.replays},
                                 {"seconds", explanation.seconds},          {"cut_short", explanation.is_cut_short},
                                 {"links", nlohmann::ordered_json::array()}};
  for (const explain::Link& link : explanation.links) json["links"].push_back(LinkJson(link));
  return json;
}

void Print(const explain::Explanation& explanation) {
  fmt::print("{}\n", PrintableText(explanation.failure));
  for (const explain::Link& link : explanation.links) PrintLink(link);
  fmt::print("{}\n", PrintableText(explain::ReplayedText(explanation)));
  if (explain::IsCutOff(explanation))
    Note("what came before is not known: `recrash why --rerun` runs the program again, and looks from its beginning");
}

// "recrash debug REPORT --program PROGRAM", to be run anywhere.
std::string CommandLine(const char* command, const WhyArguments& arguments, const Suite& suite) {
  std::error_code error;
  const bool is_folder = fs::is_directory(arguments.target.report, error);
  const fs::path target = fs::absolute(is_folder ? arguments.target.report : suite.report_path, error);
  std::string line =
      fmt::format("recrash {} {} --program {}", command, pages::ShellWord(target), pages::ShellWord(suite.program));
  for (const std::string& path : arguments.target.search_paths)
    line += " --search-path " + pages::ShellWord(fs::absolute(path, error));
  return line;
}

pages::WhyContext ContextOf(const Suite& suite, const WhyArguments& arguments) {
  pages::WhyContext context;
  std::error_code error;
  if (fs::is_directory(arguments.target.report, error))
    context.commands.push_back(
        {"Run the tests", pages::ShellWord(fs::absolute(arguments.target.report, error) / "build/crash_test")});
  else
    context.commands.push_back({"Make tests that fail in the same way", CommandLine("reproduce", arguments, suite)});
  context.commands.push_back({"Look for the cause again", CommandLine("why", arguments, suite)});
  for (const Frame& frame : suite.backtrace.frames) {
    const auto& reproduced = suite.report.replay.frames;
    const bool is_reproduced = std::ranges::find(reproduced, frame.index, &ReplayFrame::index) != reproduced.end();
    if (!is_reproduced && (!frame.own || frame.file.empty())) continue;
    pages::StackRow row{frame.index, PlainFunction(frame.function), "", is_reproduced ? "reproduced" : "", ""};
    if (!frame.file.empty()) row.place = fmt::format("{}:{}", BaseName(frame.file), frame.line);
    if (is_reproduced) row.command = CommandLine("debug", arguments, suite) + fmt::format(" --frame {}", frame.index);
    context.stack.push_back(std::move(row));
  }
  return context;
}

// The one way to standard output is taken by at most one of them.
bool IsForOneReader(const WhyArguments& arguments) {
  return (arguments.json == "-") + (arguments.html == "-") + (arguments.sarif == "-") <= 1;
}

Status WriteAll(const explain::Explanation& explanation, const Suite& suite, const WhyArguments& arguments) {
  if (const Status written = WriteJson(ExplanationJson(explanation), arguments.json); !written) return written;
  if (!arguments.html.empty()) {
    const std::string page = pages::WhyPage(explanation, ContextOf(suite, arguments));
    if (const Status written = pages::WriteWhole(page, arguments.html, "page"); !written) return written;
  }
  if (arguments.sarif.empty()) return Ok{};
  std::error_code error;
  const std::string sarif = pages::SarifText(pages::WhySarif(explanation, fs::current_path(error)));
  return pages::WriteWhole(sarif, arguments.sarif, "SARIF");
}

}  // namespace

int WhyCommand(const WhyArguments& arguments) {
  if (!IsForOneReader(arguments))
    return Fail({Errc::kUsage, "only one of --json, --html and --sarif can be written to standard output"});
  Request request = arguments.request;
  request.runs = 1;
  const Result<Suite> suite = FramesOf(arguments.target, request);
  if (!suite) return Fail(suite.error());
  const Result<ReplayFrame> frame = FrameToReplay(*suite, arguments.frame);
  if (!frame) return Fail(frame.error());
  const Result<Symbols> symbols = Symbols::Open(suite->report, suite->symbols);
  if (!symbols) return Fail(symbols.error());
  explain::ExplainOptions options;
  options.replay = ReplaysOf(*suite);
  options.replay.jobs = 1;
  options.frame = frame->index;
  options.start = frame->start;
  options.seconds = arguments.seconds;
  options.all = arguments.all;
  Result<explain::Explanation> explanation = explain::Explain(suite->report, *symbols, options);
  if (!explanation) return Fail(explanation.error());
  explanation->failure = suite->failure;
  const Status written = WriteAll(*explanation, *suite, arguments);
  if (arguments.json != "-" && arguments.html != "-" && arguments.sarif != "-") Print(*explanation);
  if (!written) return Fail(written.error());
  return kSuccess;
}

}  // namespace recrash::cli
