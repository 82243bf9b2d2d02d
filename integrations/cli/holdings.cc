// recrash show --strings, --env, --files, --log: what a report holds that may be private; recrash redact: takes some of
// it out.
#include "testgen/suite/holdings.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "agent/base/printable_text.h"
#include "agent/report/reader.h"
#include "agent/report/writer.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/json.h"
#include "integrations/cli/save.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"
#include "testgen/suite/folder.h"
#include "testgen/suite/load.h"
#include "testgen/suite/minimal.h"

namespace recrash::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void PrintLogs(const Report& report) {
  for (const KeptLog& log : report.logs) {
    fmt::print("{}  {}, {} of {} bytes\n", log.title(), PrintableText(log.path), log.tail.size(), log.size);
    std::string_view text(reinterpret_cast<const char*>(log.tail.data()), log.tail.size());
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      fmt::print("  {}\n", PrintableText(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
}

void PrintFiles(const Report& report) {
  for (const Input& input : report.inputs)
    if (input.attached) fmt::print("attached  {}  {}\n", input.held() ? "held" : "    ", PrintableText(input.path));
  for (const OpenFile& file : report.files)
    fmt::print("{:>5}  {}  {}\n", file.descriptor,
               file.input >= 0 && report.inputs[static_cast<size_t>(file.input)].held() ? "held" : "    ",
               PrintableText(file.path));
  for (const Input& input : report.inputs)
    for (const std::string& name : input.names)
      fmt::print("named  {}  {}\n", input.held() ? "held" : "    ", PrintableText(name));
}

Json FilesJson(const Report& report) {
  Json files = Json::array();
  for (const Input& input : report.inputs)
    if (input.attached) files.push_back({{"attached", input.path}, {"path", input.path}, {"held", input.held()}});
  for (const OpenFile& file : report.files)
    files.push_back({{"descriptor", file.descriptor},
                     {"path", file.path},
                     {"held", file.input >= 0 && report.inputs[static_cast<size_t>(file.input)].held()}});
  for (const Input& input : report.inputs)
    for (const std::string& name : input.names)
      files.push_back({{"name", name}, {"path", input.path}, {"held", input.held()}});
  return files;
}

// With what tests need, where it is the report beside tests.
Result<TestReport> Read(const fs::path& path, bool* has_tests) {
  Result<TestReport> tests = ReadTestReport(path);
  *has_tests = static_cast<bool>(tests);
  if (tests || tests.error().code != Errc::kMissing) return tests;
  Result<Report> report = ReadReport(path);
  if (!report) return report.error();
  return TestReport{*std::move(report), {}};
}

}  // namespace

int HoldingsCommand(const ShowArguments& arguments) {
  const auto path = FindReport(arguments.report.report, arguments.report.program);
  if (!path) return Fail(path.error());
  const bool needs_memory = arguments.environment || arguments.strings || !arguments.save.empty();
  const Result<Report> report = needs_memory ? ReadReport(*path) : ReadMetadata(*path);
  if (!report) return Fail(report.error());
  const bool print = arguments.json != "-";
  Json json = {{"report", path->string()}};
  if (arguments.environment) {
    json["environment"] = EnvironmentIn(*report);
    for (const std::string& variable : EnvironmentIn(*report))
      if (print) fmt::print("{}\n", PrintableText(variable));
  }
  if (arguments.files) {
    json["files"] = FilesJson(*report);
    if (print) PrintFiles(*report);
  }
  if (arguments.log) {
    json["logs"] = LogsJson(*report, /*with_text=*/true);
    if (print) PrintLogs(*report);
  }
  if (arguments.strings) {
    Json strings = Json::array();
    for (const HeldText& held : TextsIn(*report)) {
      strings.push_back({{"address", held.address.value}, {"text", held.text}});
      if (print) fmt::print("{:#014x}  {}\n", held.address.value, PrintableText(held.text));
    }
    json["strings"] = strings;
  }
  if (!arguments.save.empty())
    if (const Status saved = SaveHoldings(*report, arguments.save); !saved) return Fail(saved.error());
  const Status written = WriteJson(json, arguments.json);
  return written ? kSuccess : Fail(written.error());
}

namespace {

// The frames that are to be taken out, where there are any.
Result<std::vector<StackPart>> ChosenFrames(const RedactArguments& arguments, const fs::path& report,
                                            const SymbolOptions& symbols) {
  if (arguments.frames.empty()) return std::vector<StackPart>();
  const Result<Crash> crash = Load(report, symbols);
  if (!crash) return crash.error();
  return ChooseStack(arguments.frames, crash->report, crash->backtrace);
}

Result<Redaction> RedactionOf(const RedactArguments& arguments, const fs::path& report, const SymbolOptions& symbols) {
  Result<std::vector<StackPart>> frames = ChosenFrames(arguments, report, symbols);
  if (!frames) return frames.error();
  return Redaction{arguments.environment, arguments.files, arguments.logs,
                   arguments.notes,       arguments.texts, *std::move(frames)};
}

void PrintSizes(const fs::path& output, uint64_t before, const Redacted& redacted) {
  std::error_code none;
  fmt::print(
      "recrash: {}: {} bytes, before {}; taken out: {} variables of the environment, {} files, {} logs, {} notes, {} "
      "texts{}\n",
      PrintableText(output.string()), fs::file_size(output, none), before, redacted.variables, redacted.files,
      redacted.logs, redacted.notes, redacted.texts, redacted.parts != 0 ? ", frames" : "");
  if (redacted.tests != 0)
    fmt::print("  {} tests cannot be replayed any more: their frames are gone\n", redacted.tests);
}

int RedactToTests(const RedactArguments& arguments) {
  const fs::path given = arguments.report.report;
  const fs::path folder = IsSuite(given) ? given : given.has_parent_path() ? given.parent_path() : fs::path(".");
  if (!IsSuite(given) && given.filename() != "crash_test.rcr")
    return Fail({Errc::kUsage, fmt::format("{}: --to-tests needs a folder of tests, or the crash_test.rcr in it",
                                           PrintableText(given.string()))});
  Result<Suite> suite = ReadSuite(folder, arguments.report.program);
  if (!suite) return Fail(suite.error());
  const fs::path report = folder / "crash_test.rcr";
  const fs::path output = arguments.output.empty() ? report : fs::path(arguments.output);
  std::error_code none;
  const uint64_t before = fs::file_size(report, none);
  const Result<Redaction> redaction = RedactionOf(arguments, report, suite->symbols);
  if (!redaction) return Fail(redaction.error());
  Redacted redacted = Redact(*redaction, &suite->report);
  const Result<Minimal> minimal = ReduceTests(*suite, arguments.output);
  if (!minimal) return Fail(minimal.error());
  redacted.files += minimal->files;
  PrintSizes(output, before, redacted);
  fmt::print("  {} tests reproduce as before; {} bytes of memory kept, {} withheld\n",
             suite->report.replay.frames.size(), minimal->kept, redacted.withheld + minimal->withheld);
  return kSuccess;
}

}  // namespace

int RedactCommand(const RedactArguments& arguments) {
  std::error_code none;
  if (!arguments.output.empty() && fs::exists(arguments.output, none))
    return Fail({Errc::kUsage, fmt::format("{}: is there already; name a new file", arguments.output)});
  if (IsBundle(arguments.output))
    return Fail({Errc::kUsage, arguments.output + ": needed a name that ends in .rcr: recrash redact writes a report\n"
                                                  "recrash bundle makes a bundle of that"});
  if (arguments.to_tests) return RedactToTests(arguments);
  if (arguments.output.empty()) return Fail({Errc::kUsage, "-o is needed: the report to write, a new file"});
  const auto path = FindReport(arguments.report.report, arguments.report.program);
  if (!path) return Fail(path.error());
  bool has_tests = false;
  Result<TestReport> report = Read(*path, &has_tests);
  if (!report) return Fail(report.error());
  const Result<Redaction> redaction = RedactionOf(arguments, *path, arguments.report.symbols());
  if (!redaction) return Fail(redaction.error());
  const Redacted redacted = Redact(*redaction, &*report);
  const Status written =
      has_tests ? WriteReport(*report, arguments.output) : WriteReport(static_cast<Report&>(*report), arguments.output);
  if (!written) return Fail(written.error());
  PrintSizes(arguments.output, fs::file_size(*path, none), redacted);
  return kSuccess;
}

}  // namespace recrash::cli
