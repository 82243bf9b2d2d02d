// A report of tests without all that the tests do not need.
//
//   const Result<Minimal> minimal = ReduceTests(suite, "");  // crash_test.rcr in its folder
//   fmt::print("{} bytes of memory are withheld", minimal->withheld);
//
// Each test is replayed with the memory outside the modules taken away page by page: a page comes back when it is
// touched. What no test touched is withheld, so that a replay can find nothing there, and all tests are replayed once
// more. If one does not reproduce then (a system call was the only one to look at a page), the pages are tried by
// halves.
#ifndef RECRASH_TESTGEN_SUITE_MINIMAL_H_
#define RECRASH_TESTGEN_SUITE_MINIMAL_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/suite/folder.h"
#include "testgen/verify/verify.h"

namespace recrash {

struct Minimal {
  uint64_t withheld = 0;  // bytes of memory
  uint64_t kept = 0;
  size_t files = 0;   // whose contents were taken out
  size_t checks = 0;  // how often all tests were replayed
};

// Takes out of the report: pages that its tests do not touch; what is left of dead calls below their stacks; contents
// of inputs that they do not read; registers of other threads, and all that a replay does not use of the failing one's;
// entry states that no test starts from. The data of modules stays.
//
// kRefused if a test does not reproduce before anything is taken out. `report` is then as it was.
Result<Minimal> KeepWhatTestsNeed(const VerifyOptions& options, TestReport* report);

// The same with the report of a folder of tests, which it replaces, or which it leaves and writes `output` instead.
// What was written is read again, and each test has to reproduce in three starts of the subject. Tests that are built
// fail as before. Otherwise the file stays as it was.
Result<Minimal> ReduceTests(const Suite& suite, const std::filesystem::path& output);

// The report holds only what its tests need: neither all of its frames nor their arguments can be read any more.
bool IsReduced(const Report& report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_MINIMAL_H_
