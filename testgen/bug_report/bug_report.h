// What a bug report says of a crash: a title and a text for the tracker, and the README.md of the bundle that goes with
// it.
//
//   const BugReport bug = WriteBugReport(crash, "server-20261118-110640-42.zip");
//   fmt::print("{}\n\n{}", bug.title, bug.text);
//
// Others read it, so no value of the program's memory stands in it but what the failure itself says: no arguments, no
// environment, no command line. Names of home folders are taken out.
#ifndef RECRASH_TESTGEN_BUG_REPORT_BUG_REPORT_H_
#define RECRASH_TESTGEN_BUG_REPORT_BUG_REPORT_H_

#include <string>
#include <vector>

#include "testgen/suite/load.h"

namespace recrash {

struct BugReport {
  std::string title;  // one line
  std::string text;   // Markdown that reads as plain text, too; all of a report's words are in indented lines
};

// `bundle`: name of the bundle's file.
BugReport WriteBugReport(const Crash& crash, const std::string& bundle);

// Returns the text with ~ in place of each of `homes` and of whatever lies right below /home.
std::string WithoutHomes(std::string text, const std::vector<std::string>& homes);

// Returns the text made of letters, digits, dots, dashes and underlines, and no longer than a file's name may be:
// harmless as a file's name and in a shell.
std::string HarmlessName(const std::string& text);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_BUG_REPORT_BUG_REPORT_H_
