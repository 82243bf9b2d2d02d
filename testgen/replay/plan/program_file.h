// What a replay needs to know of an ELF file that takes part in it.
//
//   const Result<ProgramFile> program = ReadProgramFile("./server", true);
#ifndef RECRASH_TESTGEN_REPLAY_PLAN_PROGRAM_FILE_H_
#define RECRASH_TESTGEN_REPLAY_PLAN_PROGRAM_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/report.h"

namespace recrash {

struct ProgramFile {
  std::string path;
  std::string build_id;     // lower-case hex; empty when it has none
  std::string interpreter;  // PT_INTERP; empty for a static program
  uint64_t base_vaddr = 0;  // page-aligned p_vaddr of the first PT_LOAD
  // From .symtab, else .dynsym: functions and objects, offsets from base_vaddr, locals as name@file; sorted by offset.
  std::vector<Symbol> symbols;
  std::vector<Symbol> thread_locals;  // by offset in the module's block; without .symtab none
  uint64_t tls_size = 0;              // of that block
};

// Reads a file. Without symbols it reads the program headers alone.
Result<ProgramFile> ReadProgramFile(const std::string& path, bool with_symbols);

// Returns whether `file` is the build that `module` of the report was. The build-id decides; if there is none, the
// contents of the segments that cannot be written.
bool IsSameBuild(const TestReport& report, const Module& module, const ProgramFile& file);

// A library of the report's program that is another build now.
struct RebuiltLibrary {
  size_t module = 0;  // index in Report::modules
  ProgramFile file;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_REPLAY_PLAN_PROGRAM_FILE_H_
