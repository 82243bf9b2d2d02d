// The files behind a report's modules: the image that was loaded, and the one with its debug information.
//
// A file is taken only when its build-id is that of the report. A stripped program and its unstripped twin share one;
// the code, the call frame information and the map come from whichever has them, names and types from the twin.
#ifndef RECRASH_TESTGEN_SYMBOLS_FILES_MODULE_SET_H_
#define RECRASH_TESTGEN_SYMBOLS_FILES_MODULE_SET_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"
#include "testgen/symbols/files/elf_file.h"

namespace recrash {

struct SymbolOptions {
  std::string program;                    // path; by default the report's own
  std::vector<std::string> search_paths;  // where unstripped twins and libraries may lie
  // Of a deep recursion: half from each end, and what lies outside them. A frame takes 0.3 ms.
  uint32_t max_candidates = 200;
};

// A module whose files are open. Addresses of the process minus `bias` are those of the files.
struct LoadedModule {
  const Module* module = nullptr;
  ElfFile* image = nullptr;  // code, .eh_frame
  ElfFile* names = nullptr;  // symbols; the twin where there is one
  ElfFile* dwarf = nullptr;  // the file with DWARF; null when there is none
  bool own = false;          // the user's: the program, or a library outside the system's folders

  uint64_t bias() const { return module->bias; }
  std::vector<std::unique_ptr<ElfFile>> files;
};

class ModuleSet {
 public:
  // Opens the program; libraries follow when an address in them is asked for. The report need not outlive the set.
  static Result<std::unique_ptr<ModuleSet>> Open(const Report& report, const SymbolOptions& options);

  // Null when no module holds the address, or no file of it was found.
  LoadedModule* Find(TargetAddress address);
  LoadedModule* program() { return program_; }
  const std::vector<Module>& modules() const { return modules_; }
  // Bytes of the modules' segments that cannot be written: literals, vtables' neighbours, code.
  bool ReadFile(TargetAddress address, std::span<uint8_t> out);
  // As the file has them before relocation, of segments that can be written as well.
  bool ReadInitial(TargetAddress address, std::span<uint8_t> out);

  std::vector<std::string>& notes() { return notes_; }

 private:
  ModuleSet(const Report& report, const SymbolOptions& options) : modules_(report.modules), options_(options) {}
  LoadedModule* Load(const Module& module);
  bool ReadSegments(TargetAddress address, std::span<uint8_t> out, bool writable_too);
  // Files that may be the module, best guess first.
  std::vector<std::string> Candidates(const Module& module) const;
  // Adds what a file found so far leaves open: code, then DWARF. True when both are there.
  void AddTwins(LoadedModule& loaded);
  const std::vector<std::string>& FilesWithBuildId(const std::string& build_id);

  const std::vector<Module> modules_;
  const SymbolOptions options_;
  std::map<const Module*, std::unique_ptr<LoadedModule>> loaded_;
  LoadedModule* program_ = nullptr;
  bool scanned_ = false;
  std::map<std::string, std::vector<std::string>> by_build_id_;  // of what lies under the search paths
  std::vector<std::string> notes_;
};

// Is `path` the user's and not the system's?
bool IsOwnPath(const std::string& path);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FILES_MODULE_SET_H_
