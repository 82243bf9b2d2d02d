// What an ELF file says of itself without its section headers: where it is loaded, its loader, its build-id, and the
// notes in which recrash's builds keep mode and version. Reads the program headers only, so that a stripped file will
// do, and checks each offset and count: files named by a report may be hostile.
#ifndef RECRASH_AGENT_ELF_ELF_NOTES_H_
#define RECRASH_AGENT_ELF_ELF_NOTES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"

namespace recrash {

// One PT_LOAD.
struct ElfLoad {
  uint64_t offset = 0;
  uint64_t vaddr = 0;
  uint64_t file_size = 0;
  uint64_t memory_size = 0;
  bool executable = false;
  bool writable = false;
};

// One note of `.note.recrash`, which the pass leaves in what it has compiled.
struct BuildNote {
  std::string mode;     // as shadowstack/modes.h names it
  std::string version;  // as -recrash-version= gave it; may be empty
};

struct ElfFacts {
  std::vector<ElfLoad> loads;  // at least one, ascending, not overlapping
  std::string build_id;        // lower-case hex; empty when it has none
  std::vector<BuildNote> notes;
  bool is_movable = false;   // ET_DYN: a library, or a program that is PIE
  std::string interpreter;   // PT_INTERP; empty for a library and for a static program
  uint64_t tls_size = 0;     // of the thread-local segment; 0: it has none
  uint64_t frame_table = 0;  // address of .eh_frame_hdr; 0: it has none
  uint64_t frame_table_size = 0;
};

// kMissing when there is no such file, kDamaged when it is not an x86-64 ELF file that can be loaded.
Result<ElfFacts> ReadElf(const std::string& path);
// The same from the first bytes of a file, or of a module in memory; notes that lie beyond them are not seen.
Result<ElfFacts> ParseElfHead(std::span<const uint8_t> bytes, const std::string& name);

// Adds what the notes of a segment or section say. `alignment` is that of the segment or section: where it is 8
// (.note.gnu.property of x86-64), each note is padded to 8 bytes, and else to 4.
void ReadNotes(std::span<const uint8_t> notes, uint64_t alignment, ElfFacts* facts);

Result<std::string> ReadBuildId(const std::string& path);

}  // namespace recrash

#endif  // RECRASH_AGENT_ELF_ELF_NOTES_H_
