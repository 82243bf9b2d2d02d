// What verify and reproduce print, and their --json form.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/base/printable_text.h"
#include "agent/base/text.h"
#include "integrations/cli/json.h"
#include "integrations/cli/terminal.h"
#include "integrations/cli/tests.h"
#include "testgen/emit/failure_text.h"

namespace recrash::cli {
namespace {

constexpr size_t kMostLines = 60;  // of the table; the JSON form has all
constexpr size_t kMostNumbers = 12;

const FrameVerdict* FindVerdict(const Outcome& outcome, uint32_t index) {
  const auto found = std::ranges::find(outcome.verdicts, index, &FrameVerdict::index);
  return found == outcome.verdicts.end() ? nullptr : &*found;
}

std::string EntryStateText(const FrameVerdict& verdict) {
  return verdict.derived_from ? fmt::format(" (entry state, derived from frame {})", *verdict.derived_from)
                              : " (entry state)";
}

struct Row {
  std::string function, place, outcome;
  uint32_t skipped = 0;  // frames of the recursion before this one that were left out
};

std::string OutcomeText(const Frame& frame, const FrameVerdict* verdict) {
  if (!verdict) {
    const std::string why = frame.inlined && frame.why_not.empty() ? "inlined" : frame.why_not;
    return Coloured(Colour::kDim, PrintableText(why.empty() ? "not tried" : "not tried: " + why));
  }
  std::string text = VerdictText(verdict->verdict);
  if (verdict->verdict == Verdict::kReproduced) {
    text = Coloured(Colour::kGood, text);
    if (frame.inlined) text += frame.entry.value != 0 ? " (inlined)" : " (inlined, in the twin)";
    if (verdict->start.rewind) text += " (streams rewound)";
    if (!verdict->self_contained()) text += " (not self-contained)";
    if (verdict->start.from_entry) text += EntryStateText(*verdict);
    return verdict->start.depth > 0 ? text + fmt::format(" at depth {}", verdict->start.depth) : text;
  }
  const std::string& note = verdict->note;
  // A note may go on where the verdict ends: "returned; reached parser.cc:86 14 times, none failed".
  if (note.starts_with(text + ";")) return Coloured(Colour::kBad, text) + PrintableText(note.substr(text.size()));
  return Coloured(Colour::kBad, text) + (note.empty() || note == text ? "" : ": " + PrintableText(note));
}

void PrintTable(const Outcome& outcome) {
  std::vector<Row> rows;
  size_t function_width = 0, place_width = 0;
  uint32_t next = 0, skipped = 0;
  for (const Frame& frame : outcome.suite.backtrace.frames) {
    const FrameVerdict* verdict = FindVerdict(outcome, frame.index);
    if (outcome.whole_stack) skipped += frame.index - next;
    next = frame.index + 1;
    // Start-up code and the system's libraries: nobody looks for a test of these.
    if (!verdict && (!frame.own || frame.file.empty())) continue;
    std::string function = PrintableText(PlainFunction(frame.function));
    if (function.size() > 48) function = "..." + function.substr(function.size() - 45);
    const std::string place =
        frame.file.empty() ? "" : PrintableText(fmt::format("{}:{}", BaseName(frame.file), frame.line));
    rows.push_back({fmt::format("#{:<3} {}", frame.index, function), place, OutcomeText(frame, verdict),
                    std::exchange(skipped, 0)});
    function_width = std::max(function_width, rows.back().function.size());
    place_width = std::max(place_width, place.size());
  }
  const size_t head = rows.size() > kMostLines ? kMostLines / 2 : rows.size();
  uint64_t hidden = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    hidden += rows[i].skipped;
    if (i >= head && i + head < rows.size()) {
      ++hidden;
      continue;
    }
    if (hidden > 0) fmt::print("  ... {} more frames ...\n", std::exchange(hidden, 0));
    fmt::print("  {:<{}}  {:<{}}  {}\n", rows[i].function, function_width, rows[i].place, place_width, rows[i].outcome);
  }
}

std::string KeptText(const Outcome& outcome) {
  const std::vector<uint32_t>& kept = outcome.kept;
  const Backtrace& stack = outcome.suite.backtrace;
  std::string numbers;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept.size() > kMostNumbers && i == kMostNumbers - 1) {
      numbers += fmt::format(", ... {}", kept.back());
      break;
    }
    numbers += fmt::format("{}{}", i ? ", " : "", kept[i]);
  }
  const std::string all = outcome.whole_stack ? std::to_string(stack.frames.size() + stack.skipped)
                                              : fmt::format("the {} tried", outcome.verdicts.size());
  return fmt::format("(frame{} {} of {})", kept.size() == 1 ? "" : "s", numbers, all);
}

// All fields are there for each frame; null where it was not replayed.
nlohmann::ordered_json VerdictJson(const FrameVerdict* verdict) {
  nlohmann::ordered_json json;
  for (const char* field : {"verdict", "depth", "rewound", "self_contained", "entry_state", "entry_state_source",
                            "derived_from", "runs", "seconds"})
    json[field] = nullptr;
  if (!verdict) return json;
  json.update({{"verdict", VerdictText(verdict->verdict)},
               {"depth", verdict->start.depth},
               {"rewound", verdict->start.rewind != 0},
               {"self_contained", verdict->self_contained()},
               {"entry_state", verdict->start.from_entry},
               {"runs", verdict->runs},
               {"seconds", verdict->seconds}});
  if (verdict->start.from_entry) json["entry_state_source"] = verdict->derived_from ? "derived" : "recorded";
  if (verdict->derived_from) json["derived_from"] = *verdict->derived_from;
  return json;
}

nlohmann::ordered_json ToJson(const Outcome& outcome) {
  nlohmann::ordered_json frames = nlohmann::ordered_json::array();
  for (const Frame& frame : outcome.suite.backtrace.frames) {
    const FrameVerdict* verdict = FindVerdict(outcome, frame.index);
    nlohmann::ordered_json entry = FrameJson(frame);
    entry.update(VerdictJson(verdict));
    entry["note"] = verdict ? verdict->note : frame.why_not;
    entry["own"] = frame.own;
    entry["test"] = std::ranges::find(outcome.kept, frame.index) != outcome.kept.end();
    frames.push_back(entry);
  }
  nlohmann::ordered_json json = {{"report", outcome.suite.report_path}, {"failure", outcome.suite.failure}};
  json.update(CostJson(outcome.suite.report, outcome.suite.report_bytes));
  json.update({{"frames", frames},
               {"skipped", outcome.suite.backtrace.skipped},
               {"tests", outcome.kept.size()},
               {"directory", std::filesystem::absolute(outcome.suite.directory).lexically_normal().string()},
               {"flipped_bits", outcome.suite.backtrace.flipped},
               {"notes", outcome.notes}});
  return json;
}

void PrintSummary(const Outcome& outcome, bool built) {
  const Suite& suite = outcome.suite;
  const std::string directory = PrintableText(suite.directory.string());
  const std::string failure = PrintableText(suite.failure);
  if (outcome.kept.empty()) {
    fmt::print("recrash: not reproduced: {}   (none of {} frames tried)\n", failure, outcome.verdicts.size());
    return;
  }
  fmt::print("recrash: reproduced: {}   {}\n", failure, KeptText(outcome));
  if (built) {
    fmt::print("  run the tests:  {0}/build/crash_test\n  in a debugger:  recrash debug {0} --frame {1}\n", directory,
               outcome.kept.front());
  } else {
    fmt::print("  the tests:  {}/crash_test.cc\n", directory);
  }
}

}  // namespace

int ReportOutcome(const Outcome& outcome, bool built, const std::string& json) {
  const bool any = !outcome.kept.empty();
  if (json != "-") {
    PrintTable(outcome);
    PrintSummary(outcome, built);
  }
  for (const std::string& note : outcome.notes) Note(note);
  if (!any && !outcome.suite.report.memory_complete)
    Note(
        "the report was cut at its memory limit, and a replay needs what is missing\n"
        "let the program crash once more with RECRASH_OPTIONS=memory=256 (MiB)");
  if (const Status written = WriteJson(ToJson(outcome), json); !written) return Fail(written.error());
  return any ? kSuccess : kNothingReproduced;
}

}  // namespace recrash::cli
