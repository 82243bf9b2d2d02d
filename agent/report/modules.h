// Which ELF files a process had loaded, told from its mappings and from the files; what a report keeps of a file.
#ifndef RECRASH_AGENT_REPORT_MODULES_H_
#define RECRASH_AGENT_REPORT_MODULES_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/elf/elf_image.h"
#include "agent/elf/elf_notes.h"
#include "agent/report/report.h"

namespace recrash {

// What is known of the ELF file behind a mapping that may be a module's first.
using ElfLookup = std::function<Result<ElfFacts>(const Mapping& first)>;

// Opens the mapping's file below `root` (empty, or /proc/PID/root when the process may live in another mount
// namespace). A file that was deleted since is not looked for: another may have taken its name.
ElfLookup LookupFiles(const std::string& root = "");

// Mappings are sorted by address, as /proc/PID/maps is. A module whose file cannot be read is told from the mappings
// alone, without build-id. `program` is the executable's path. Where the kernel says " (deleted)" the path is given
// without.
std::vector<Module> ModulesFromMappings(std::span<const Mapping> mappings, const std::string& program,
                                        const ElfLookup& lookup = LookupFiles());

// Returns the functions and objects of a file as a report keeps them: offsets from `base_vaddr`, the address of its
// first segment; sorted by offset. Of more than `most`, the first ones.
std::vector<Symbol> SymbolsOf(const ElfImage& image, uint64_t base_vaddr, size_t most = SIZE_MAX);
// Returns its thread-local variables, by offsets in its block; sorted so, too. None without a .symtab: nothing is
// known.
std::vector<Symbol> ThreadLocalsOf(const ElfImage& image);

// The program's loader, ld.so.
bool IsLoader(const Module& module);

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_MODULES_H_
