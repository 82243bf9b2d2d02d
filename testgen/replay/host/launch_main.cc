// recrash-launch: runs a test library inside the subject. What `crash_test` executables call.
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <filesystem>
#include <string>

#include "agent/base/own_reports.h"
#include "agent/base/printable_text.h"
#include "agent/report/reader.h"
#include "testgen/replay/host/launch.h"

namespace {

constexpr char kUsage[] =
    "usage: recrash-launch --report FILE --program FILE --test-library FILE [--in-process] [--no-same-bases]\n"
    "                      [--argv0 NAME] [--search-path DIR]... [--trust-report] [--no-sandbox]\n"
    "                      [--twin FILE]\n"
    "                      [-- ARGUMENTS...]\n";

int Fail(const recrash::Error& error) {
  fprintf(stderr, "recrash: error: %s", recrash::PrintableLines(error.message).c_str());
  return ExitCodeOf(error.code);
}

int UsageError(const std::string& why) {
  fprintf(stderr, "recrash-launch: %s\n%s", recrash::PrintableText(why).c_str(), kUsage);
  return 2;
}

int StatusToExitCode(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  fprintf(stderr, "recrash: error: the program that hosts the tests was killed by signal %d (%s)\n", WTERMSIG(status),
          strsignal(WTERMSIG(status)));
  return 128 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  recrash::LaunchOptions options;
  std::string report_path;
  int i = 1;
  for (; i < argc; ++i) {
    const std::string argument = argv[i];
    std::string* value = nullptr;
    if (argument == "--") {
      ++i;
      break;
    }
    if (argument == "--report") value = &report_path;
    if (argument == "--program") value = &options.program;
    if (argument == "--test-library") value = &options.test_library;
    if (argument == "--argv0") value = &options.argv0;
    if (argument == "--twin") value = &options.twin;
    if (argument == "--search-path") value = &options.code.search_paths.emplace_back();
    if (argument == "--in-process") {
      options.in_process = true;
    } else if (argument == "--trust-report") {
      options.code.trust_report = true;
    } else if (argument == "--no-sandbox") {
      options.sandbox = false;
    } else if (argument == "--no-same-bases") {
      options.allow_same_bases = false;
    } else if (!value) {
      return UsageError(argument + " is not understood");
    } else if (i + 1 == argc) {
      return UsageError(argument + " needs a value");
    } else {
      *value = argv[++i];
    }
  }
  for (; i < argc; ++i) options.arguments.emplace_back(argv[i]);
  if (report_path.empty() || options.program.empty() || options.test_library.empty()) {
    return UsageError("--report, --program and --test-library are needed");
  }
  std::error_code ignored;
  options.report_path = report_path;
  options.test_library = std::filesystem::absolute(options.test_library, ignored).string();
  const recrash::Result<recrash::TestReport> report = recrash::ReadTestReport(report_path);
  if (!report) return Fail(report.error());
  options.code.trust_report = options.code.trust_report || recrash::IsOwnReport(report_path);
  const recrash::Result<int> status = recrash::Launch(*report, options);
  return status ? StatusToExitCode(*status) : Fail(status.error());
}
