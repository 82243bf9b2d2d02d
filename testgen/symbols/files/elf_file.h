// One ELF file: its symbols, sections, segments, call frame information and debug information.
//
// Each is read when it is first asked for: a report names a dozen libraries, and a back-trace reads two of them.
// Addresses are those of the file (p_vaddr). Add the module's bias for an address of the process.
#ifndef RECRASH_TESTGEN_SYMBOLS_FILES_ELF_FILE_H_
#define RECRASH_TESTGEN_SYMBOLS_FILES_ELF_FILE_H_

#include <elfutils/libdw.h>
#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/result.h"

namespace recrash {

struct ElfSymbol {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string name;
  std::string file;  // of the STT_FILE symbol before it, for local ones
  bool is_function = false;
  bool is_local = false;
};

struct ElfSection {
  uint64_t address = 0;
  std::span<const uint8_t> bytes;  // empty for a section that a .debug file only names
};

struct ElfSegment {
  uint64_t address = 0;
  uint64_t memory_size = 0;
  bool writable = false;
  bool executable = false;
  std::span<const uint8_t> bytes;
};

// The code of one function: a symbol with a size, or what one FDE covers if symbols are stripped.
struct FunctionRange {
  uint64_t start = 0;
  uint64_t size = 0;
  std::vector<std::string_view> names;  // aliases (C1 and C2 of a constructor); empty when only the FDE is known
};

class ElfFile {
 public:
  static Result<std::unique_ptr<ElfFile>> Open(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  const std::string& path() const { return path_; }
  const std::string& build_id() const { return build_id_; }
  const std::string& debug_link() const { return debug_link_; }
  bool has_code() const { return has_code_; }      // false for the .debug half of a stripped file
  bool has_dwarf() const { return has_dwarf_; }    // .debug_info is there
  bool has_symtab() const { return has_symtab_; }  // .symtab, not only .dynsym
  const std::vector<ElfSegment>& segments() const { return segments_; }

  std::optional<ElfSection> FindSection(std::string_view name) const;
  // Functions and objects by address, from .symtab if it is there, else from .dynsym.
  const std::vector<ElfSymbol>& symbols();
  std::optional<FunctionRange> FunctionAt(uint64_t address);
  const ElfSymbol* SymbolNamed(std::string_view name);
  // The object that holds `address` (a vtable, a variable).
  const ElfSymbol* ObjectAt(uint64_t address);

  Dwarf* dwarf();            // null when there is none
  Dwarf_CFI* eh_frame();     // null when there is none
  Dwarf_CFI* debug_frame();  // null when there is none

 private:
  ElfFile() = default;
  void ReadHeaders();
  void ReadSymbols(Elf_Scn* section, const void* header);
  // The FDE ranges of .eh_frame, sorted by start: the public interface of libdw gives rows only.
  const std::vector<FunctionRange>& fde_ranges();

  std::string path_;
  int fd_ = -1;
  Elf* elf_ = nullptr;
  std::string build_id_;
  std::string debug_link_;
  bool has_code_ = false;
  bool has_dwarf_ = false;
  bool has_symtab_ = false;
  std::vector<ElfSegment> segments_;

  bool symbols_read_ = false;
  std::vector<ElfSymbol> symbols_;
  bool fdes_read_ = false;
  std::vector<FunctionRange> fdes_;
  bool dwarf_tried_ = false;
  Dwarf* dwarf_ = nullptr;
  bool eh_frame_tried_ = false;
  Dwarf_CFI* eh_frame_ = nullptr;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FILES_ELF_FILE_H_
