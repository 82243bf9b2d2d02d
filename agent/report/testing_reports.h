// Reports for tests: one with something in every field, and ways to compare and to damage them.
#ifndef RECRASH_AGENT_REPORT_TESTING_REPORTS_H_
#define RECRASH_AGENT_REPORT_TESTING_REPORTS_H_

#include <string>

#include "agent/base/testing_files.h"
#include "agent/report/report.h"

namespace recrash {

// No field has its default value, no two fields of one struct are equal.
TestReport FullReport();
// As FullReport, but of a few hundred bytes on disk.
TestReport SmallReport();

// Every field as text, so that a difference shows where it is.
std::string Dump(const Report& report);
std::string Dump(const TestReport& report);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_TESTING_REPORTS_H_
