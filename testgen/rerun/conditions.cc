#include "testgen/rerun/conditions.h"

#include <algorithm>
#include <cstdlib>

#include "agent/base/printable_text.h"
#include "testgen/rerun/recorded_environment.h"
#include "testgen/rerun/workspace.h"

namespace recrash {
namespace {

std::string NameIn(const std::string& assignment) { return assignment.substr(0, assignment.find('=')); }

// For a prompt: each word as it is, made printable; those with blanks in quotation marks.
std::string Words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool is_plain = !word.empty() && word.find_first_of(" \t\n\"'") == std::string::npos;
    text += (text.empty() ? "" : " ") + (is_plain ? PrintableText(word) : '"' + EscapeText(word) + '"');
  }
  return text.empty() ? "none" : text;
}

}  // namespace

RerunEnvironment EnvironmentOf(const Report& report, const RerunOptions& options) {
  std::vector<std::pair<std::string, std::string>> changes = options.environment;
  if (!options.trust_report) {
    for (const char* name : {"PATH", "HOME"})
      if (const char* ours = std::getenv(name)) changes.emplace_back(name, ours);
  }
  RerunEnvironment environment;
  for (std::string& assignment : RecordedEnvironment(report)) {
    const std::string name = NameIn(assignment);
    if (std::ranges::find(changes, name, &std::pair<std::string, std::string>::first) != changes.end()) continue;
    if (!options.trust_report && MayRunCode(assignment))
      environment.dropped.push_back(name);
    else
      environment.kept.push_back(std::move(assignment));
  }
  for (const auto& [name, value] : changes) environment.kept.push_back(name + "=" + value);
  return environment;
}

std::string DescribeRun(const Report& report, const RerunOptions& options) {
  const RerunEnvironment environment = EnvironmentOf(report, options);
  std::string text = "--rerun runs this without a sandbox, because the report says so:";
  const auto line = [&](const char* what, const std::vector<std::string>& words) {
    text += std::string("\n  ") + what + Words(words);
  };
  line("program      ", {options.program});
  line("arguments    ", report.process.arguments);
  line("environment  ", environment.kept);
  if (!environment.dropped.empty()) line("  without    ", environment.dropped);
  if (options.folder.empty())
    line("files        ", FilesOfRun(report));
  else
    line("folder       ", {options.folder});
  return text;
}

}  // namespace recrash
