// Sections of a loaded file that only the loader and the unwinder read. No pointer of a program leads into them.
//
//   if (IsLinkerTable(".eh_frame")) ...
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_LINKER_TABLES_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_LINKER_TABLES_H_

#include <string.h>

namespace recrash {

inline constexpr const char* kLinkerTables[] = {
    ".eh_frame", ".eh_frame_hdr", ".gcc_except_table", ".dynsym",      ".dynstr",       ".gnu.hash",
    ".hash",     ".rela.dyn",     ".rela.plt",         ".gnu.version", ".gnu.version_r"};

inline bool IsLinkerTable(const char* section) {
  for (const char* table : kLinkerTables) {
    if (strcmp(section, table) == 0) return true;
  }
  return false;
}

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_LINKER_TABLES_H_
