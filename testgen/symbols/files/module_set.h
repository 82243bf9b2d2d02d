// Finds the files behind a report's modules: the image that was loaded, and its unstripped file.
//
// A file is taken only if its build-id is the report's. A stripped program and its unstripped file share one build-id.
// Code, call frame information and the map come from whichever file has them, names and types from the unstripped one.
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
  std::vector<std::string> search_paths;  // where unstripped files and libraries may lie
  // Of a deep recursion: half from each end, and what lies outside them. A frame takes 0.3 ms.
  uint32_t max_candidates = 200;
};

// A module whose files are open. An address of the process minus `bias` is the address in its files.
struct LoadedModule {
  const Module* module = nullptr;
  ElfFile* image = nullptr;  // code, .eh_frame
  ElfFile* names = nullptr;  // symbols; the unstripped file where there is one
  ElfFile* dwarf = nullptr;  // the file with DWARF; null when there is none
  bool own = false;          // the program, or a library outside the system's folders

  uint64_t bias() const { return module->bias; }
  std::vector<std::unique_ptr<ElfFile>> files;
};

class ModuleSet {
 public:
  // Opens the program. A library is opened when an address in it is first asked for. The report need not outlive the
  // set.
  static Result<std::unique_ptr<ModuleSet>> Open(const Report& report, const SymbolOptions& options);

  // Returns null if no module holds the address, or no file of the module was found.
  LoadedModule* Find(TargetAddress address);
  LoadedModule* program() { return program_; }
  const std::vector<Module>& modules() const { return modules_; }
  // Reads from segments that cannot be written: literals, code. The file's bytes are the process's there.
  // `writable_too`: reads from all segments, as the file has them before relocation.
  bool ReadFile(TargetAddress address, std::span<uint8_t> out, bool writable_too = false);

  std::vector<std::string>& notes() { return notes_; }

 private:
  ModuleSet(const Report& report, const SymbolOptions& options) : modules_(report.modules), options_(options) {}
  LoadedModule* Load(const Module& module);
  // Returns the paths that may be the module, best guess first.
  std::vector<std::string> Candidates(const Module& module) const;
  // Adds files for what is still missing: code, DWARF, symbols.
  void AddUnstripped(LoadedModule& loaded);
  const std::vector<std::string>& FilesWithBuildId(const std::string& build_id);

  const std::vector<Module> modules_;
  const SymbolOptions options_;
  std::map<const Module*, std::unique_ptr<LoadedModule>> loaded_;
  LoadedModule* program_ = nullptr;
  bool scanned_ = false;
  std::map<std::string, std::vector<std::string>> by_build_id_;  // of what lies under the search paths
  std::vector<std::string> notes_;
};

// Returns true if `path` lies outside the system's folders and is not recrash's own.
bool IsOwnPath(const std::string& path);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FILES_MODULE_SET_H_
