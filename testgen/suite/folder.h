// A folder of generated tests: crash_test.cc, crash_test.rcr, CMakeLists.txt, .vscode/launch.json, .gitignore,
// and .recrash.json, in which recrash keeps where they came from.
//
// The folder can be moved, committed and cloned: these files name the program and other files by their paths from the
// folder. What has no such path, and the original report, stands in .recrash-here.json, which no one commits.
//
// People edit crash_test.cc. The hash of the text that recrash wrote tells whether the file was edited; an edited file
// is renamed to crash_test.cc.1 before a new one is written.
#ifndef RECRASH_TESTGEN_SUITE_FOLDER_H_
#define RECRASH_TESTGEN_SUITE_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/discern/already_there.h"
#include "testgen/emit/emit.h"
#include "testgen/replay/host/code_files.h"
#include "testgen/suite/observer.h"
#include "testgen/symbols/backtrace.h"

namespace recrash {

struct Suite {
  std::filesystem::path directory;
  std::string report_path;    // the original, for --json
  uint64_t report_bytes = 0;  // the original's size
  std::string report_name;
  std::string failure;             // "SIGSEGV in FormatName at greeter.cc:41"
  std::string program;             // absolute path of the build that the tests are run against
  std::string named_program = {};  // what the folder names, if that is not `program`: a later build has taken its place
  std::string twin;                // absolute path of a build of the same sources without inlining; empty: none
  SymbolOptions symbols;
  bool is_own = false;        // the report was written on this machine by this user
  bool sandbox = true;        // of its replays
  bool format = true;         // the source as the project around the folder has it
  bool trust_report = false;  // the developer says that it may be taken for such a one
  TestReport report;
  Backtrace backtrace;
  std::vector<AlreadyThere> already_there = {};  // of the frames that have tests

  // Where code of replays may come from, beside the program.
  CodeSources code() const { return {symbols.search_paths, is_own || trust_report}; }
};

// Makes the folder, or checks that it is empty or one that recrash made. kRefused otherwise, unless `force`.
Status PrepareDirectory(const std::filesystem::path& directory, bool force);

// Writes all files. `tests` says which frames get one; report.replay holds these at least, as does crash_test.rcr.
Status WriteSuite(const Suite& suite, const EmitOptions& tests, Observer* observer);

// Reads a folder that WriteSuite made. `program` and `twin`, if not empty, replace those that the folder names.
Result<Suite> ReadSuite(const std::filesystem::path& directory, const std::string& program,
                        const std::string& twin = "");

// Replaces the text of crash_test.cc. A file that nobody has edited does not count as edited afterwards.
Status EditSource(const std::filesystem::path& directory, const std::function<std::string(const std::string&)>& edit);

// For the command line of CMake: "-Dcrash_test_PROGRAM=" and the absolute path, empty if CMakeLists.txt leads there;
// the same of the twin and of the search paths.
std::vector<std::string> PlacesHere(const std::filesystem::path& directory);

// True when the folder has recrash's own file in it.
bool IsSuite(const std::filesystem::path& directory);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SUITE_FOLDER_H_
