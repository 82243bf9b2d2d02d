// What generate, verify, reproduce and debug share: the pipeline at a terminal.
#ifndef RECRASH_INTEGRATIONS_CLI_TESTS_H_
#define RECRASH_INTEGRATIONS_CLI_TESTS_H_

#include "agent/base/result.h"
#include "integrations/cli/commands.h"

namespace recrash::cli {

// MakeTests of the report that is named, with notes and progress on stderr.
Result<Outcome> MakeTestsOf(const ReportArguments& report, Request request);

// Prints the table and the summary, writes --json; returns the exit code.
int ReportOutcome(const Outcome& outcome, bool built, const std::string& json);

}  // namespace recrash::cli

#endif  // RECRASH_INTEGRATIONS_CLI_TESTS_H_
