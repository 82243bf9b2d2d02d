// The sanitizers in this process, and where their reports go: AddressSanitizer, UBSan.
//
//   FindCheckers(&checkers, FindInRuntime);           // once
//   AddCheckersLibrary(&checkers, module.path);       // for each library
//   PrepareReport(&checkers);                         // before each replay
//   RedirectReports(checkers);                        // in its process
//   ReadAddressFinding(checkers, &finding, &address); // in the handler of its SIGABRT
//   ReadReport(checkers, show, &finding);             // afterwards, in the parent
#ifndef RECRASH_TESTGEN_REPLAY_CHECKS_CHECKERS_H_
#define RECRASH_TESTGEN_REPLAY_CHECKS_CHECKERS_H_

#include <stdint.h>

#include "testgen/replay/checks/finding.h"

namespace recrash::replay {

constexpr int kMostReportSetters = 4;

// A pointer is null if the process does not have the function.
struct Checkers {
  int (*has_finding)();        // of AddressSanitizer
  const char* (*finding)();    // "heap-use-after-free"
  void* (*finding_address)();  // of the bad access
  // Of UBSan's report that is being written: kind, text, file, line, column, address.
  void (*current_report)(const char**, const char**, const char**, unsigned*, unsigned*, char**);
  using SetReport = void(void*);
  SetReport* set_report[kMostReportSetters];  // of each runtime in the process: where its reports go
  int set_report_count;
  int report_fd;  // an anonymous file; 0: none
};

// Returns a function of the process by its name, or null.
using FindFunction = void* (*)(const char* name);

void FindCheckers(Checkers* checkers, FindFunction find);
// Each of g++'s runtimes is a library, and writes its own reports.
void AddCheckersLibrary(Checkers* checkers, const char* path);

// Makes an empty file for what sanitizers report.
void PrepareReport(Checkers* checkers);

// Has them write to it. REQUIRES: this is the process of the replay, since a report of another one goes elsewhere;
// recorded memory is not back yet.
void RedirectReports(const Checkers& checkers);

// Notes what AddressSanitizer found, if it is why the program aborts, and at which address.
void ReadAddressFinding(const Checkers& checkers, Finding* finding, uint64_t* address);

// Notes the report that UBSan is writing, unless there is a finding already.
void ReadUndefined(const Checkers& checkers, Finding* finding);

// Notes what UBSan wrote, unless there is a finding already. `show`: writes all reports to stderr.
void ReadReport(const Checkers& checkers, bool show, Finding* finding);

}  // namespace recrash::replay

#endif  // RECRASH_TESTGEN_REPLAY_CHECKS_CHECKERS_H_
