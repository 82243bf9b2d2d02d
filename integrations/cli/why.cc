// recrash why: where the bad value comes from.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/json.h"
#include "integrations/cli/terminal.h"
#include "integrations/cli/tests.h"
#include "testgen/explain/explain.h"

namespace recrash::cli {
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
             PrintableText(link.text) + (link.undone.value_or(false) ? " (undone, the failure goes)" : ""));
  if (link.line != 0)
    fmt::print("{}    {}  {}\n", indent, Coloured(Colour::kDim, PlaceText(link)), PrintableText(link.source));
}

nlohmann::ordered_json LinkJson(const explain::Link& link) {
  return {{"kind", explain::LinkText(link.kind)},
          {"function", link.function},
          {"file", link.file},
          {"line", link.line},
          {"text", link.text},
          {"source", link.source},
          {"depth", link.depth},
          {"undone", link.undone ? nlohmann::ordered_json(*link.undone) : nlohmann::ordered_json()}};
}

nlohmann::ordered_json ExplanationJson(const explain::Explanation& explanation) {
  nlohmann::ordered_json json = {{"failure", explanation.failure},     {"began", explanation.began},
                                 {"from_entry", explanation.is_exact}, {"replays", explanation.replays},
                                 {"seconds", explanation.seconds},     {"links", nlohmann::ordered_json::array()}};
  for (const explain::Link& link : explanation.links) json["links"].push_back(LinkJson(link));
  return json;
}

void Print(const explain::Explanation& explanation) {
  fmt::print("{}\n", PrintableText(explanation.failure));
  for (const explain::Link& link : explanation.links) PrintLink(link);
  fmt::print("replayed {} times from {} of {}, in {:.1f} s\n", explanation.replays,
             explanation.is_exact ? "the entry" : "a call, in the memory of the crash,",
             PrintableText(explanation.began), explanation.seconds);
  const bool began_so = std::ranges::any_of(explanation.links, [](const explain::Link& link) {
    return link.kind == explain::LinkKind::kBefore && link.depth == 0;
  });
  if (began_so && !explanation.is_exact)
    Note("what came before is not known: `recrash why --rerun` runs the program again, and looks from its beginning");
}

}  // namespace

int WhyCommand(const WhyArguments& arguments) {
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
  if (const Status written = WriteJson(ExplanationJson(*explanation), arguments.json); !written)
    return Fail(written.error());
  if (arguments.json != "-") Print(*explanation);
  return kSuccess;
}

}  // namespace recrash::cli
