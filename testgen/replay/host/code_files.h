// Which files may give code to a replay. Who writes a report chooses its paths and its build-ids, so neither is enough.
//
// Code comes from what the developer names (the program, what the loader loads for it, what lies beside it), and from
// files that have the recorded build-id and lie under a search path or in a folder of the system. Only where the report
// itself is trusted does it come from any recorded path. It never comes from /proc, /dev or a relative path.
//
//   CodeFiles files("/home/ada/build/server", {.search_paths = {"/home/ada/sysroot"}});
//   Result<std::string> path = files.Find(module);   // an error: why not, and the way out
#ifndef RECRASH_TESTGEN_REPLAY_HOST_CODE_FILES_H_
#define RECRASH_TESTGEN_REPLAY_HOST_CODE_FILES_H_

#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/replay/plan/program_file.h"

namespace recrash {

struct CodeSources {
  std::vector<std::string> search_paths = {};
  bool trust_report = false;  // written on this machine by this user (own_reports.h), or the developer said so
};

class CodeFiles {
 public:
  // `program`: the path of the file that will run; empty where it is still to be found.
  CodeFiles(std::string program, CodeSources sources) : program_(std::move(program)), sources_(std::move(sources)) {}

  // The file to load for a module. kMissing: there is none. kRefused: there is one, and it is not to be run.
  Result<std::string> Find(const Module& module) const;

 private:
  const std::string program_;
  const CodeSources sources_;
};

// Of a program that the developer named and the modules of a report.
struct LoadedCode {
  std::vector<std::string> files;    // for each module the file that its code comes from now; empty: none
  std::vector<std::string> to_load;  // the same, of those that the loader does not map with the program
  std::vector<std::string> refused;  // why others are not run, and the way out; one text each
  std::vector<std::string> folders;  // where the loader has to look for what the program is linked with
  std::vector<std::string> missing;  // of that, what is nowhere
};
bool IsOurLibrary(const Module& module);
LoadedCode FindCode(const TestReport& report, const ProgramFile& program, const CodeSources& sources);

// What a replay of the report with the program at `path` will not run, and the way out; one text each.
std::vector<std::string> RefusedCode(const TestReport& report, const std::string& path, const CodeSources& sources);

// LD_LIBRARY_PATH with which the loader finds the libraries of the program at `path`; empty: it needs none.
std::string LibraryPathFor(const TestReport& report, const std::string& path, const CodeSources& sources);

// The program that the report names, if its file may be run without being named by the developer.
Result<std::string> FindRecordedProgram(const Report& report, const CodeSources& sources);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_HOST_CODE_FILES_H_
