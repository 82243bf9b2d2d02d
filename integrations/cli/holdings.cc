// recrash show --strings, --env, --files: what a report holds that may be private; recrash redact: takes some of it
// out.
#include "testgen/suite/holdings.h"

#include <fmt/format.h>

#include <filesystem>

#include "agent/base/printable_text.h"
#include "agent/report/reader.h"
#include "agent/report/writer.h"
#include "integrations/cli/commands.h"
#include "integrations/cli/json.h"
#include "integrations/cli/store.h"
#include "integrations/cli/terminal.h"

namespace recrash::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void PrintFiles(const Report& report) {
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
  const bool needs_memory = arguments.environment || arguments.strings;
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
  if (arguments.strings) {
    Json strings = Json::array();
    for (const HeldText& held : TextsIn(*report)) {
      strings.push_back({{"address", held.address.value}, {"text", held.text}});
      if (print) fmt::print("{:#014x}  {}\n", held.address.value, PrintableText(held.text));
    }
    json["strings"] = strings;
  }
  const Status written = WriteJson(json, arguments.json);
  return written ? kSuccess : Fail(written.error());
}

int RedactCommand(const RedactArguments& arguments) {
  const auto path = FindReport(arguments.report, "");
  if (!path) return Fail(path.error());
  std::error_code none;
  if (fs::exists(arguments.output, none))
    return Fail({Errc::kUsage, fmt::format("{}: is there already; name a new file", arguments.output)});
  bool has_tests = false;
  Result<TestReport> report = Read(*path, &has_tests);
  if (!report) return Fail(report.error());
  const Redacted redacted = Redact({arguments.environment, arguments.files, arguments.texts}, &*report);
  const Status written =
      has_tests ? WriteReport(*report, arguments.output) : WriteReport(static_cast<Report&>(*report), arguments.output);
  if (!written) return Fail(written.error());
  fmt::print("recrash: {}: {} bytes, before {}; taken out: {} variables of the environment, {} files, {} texts\n",
             PrintableText(arguments.output), fs::file_size(arguments.output, none), fs::file_size(*path, none),
             redacted.variables, redacted.files, redacted.texts);
  return kSuccess;
}

}  // namespace recrash::cli
