// One ELF file of a report's module: its functions and objects by address, its call frame information, its DWARF.
//
//   const Result<std::unique_ptr<ElfFile>> file = ElfFile::Open(path);
//   if (file) function = (*file)->FunctionAt(pc.value - module.bias);
//
// Symbols, DWARF and call frame information are read when they are first asked for: a report names a dozen libraries,
// and a back-trace reads two of them. libdw reads DWARF and call frame information, agent/elf the rest. Addresses are
// those of the file (p_vaddr). Add the module's bias for an address of the process.
#ifndef RECRASH_TESTGEN_SYMBOLS_FILES_ELF_FILE_H_
#define RECRASH_TESTGEN_SYMBOLS_FILES_ELF_FILE_H_

#include <elfutils/libdw.h>
#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/base/fd.h"
#include "agent/base/result.h"
#include "agent/elf/elf_image.h"

namespace recrash {

// The code of one function: that of a symbol with a size or, without symbols, what one FDE covers.
struct FunctionRange {
  uint64_t start = 0;
  uint64_t size = 0;
  std::vector<std::string_view> names;  // aliases (C1 and C2 of a constructor); empty if only the FDE is known
};

class ElfFile : public ElfImage {
 public:
  // Fails as ElfImage::Open does.
  static Result<std::unique_ptr<ElfFile>> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::string& build_id() const { return facts().build_id; }
  // Returns the file name in .gnu_debuglink; empty if there is none.
  std::string debug_link() const;
  bool has_dwarf() const { return FindSection(".debug_info") != nullptr; }

  // Returns the symbols by address. Of those at one address, global ones come first.
  const std::vector<ElfSymbol>& symbols();
  std::optional<FunctionRange> FunctionAt(uint64_t address);
  // Returns the addresses of the functions that have this symbol name; several files may each have a static one.
  std::vector<uint64_t> FunctionsNamed(std::string_view name);
  // Returns the object that holds `address` (a vtable, a variable); null if none does.
  const ElfSymbol* ObjectAt(uint64_t address);

  // Each returns null if the file has none.
  Dwarf* dwarf();
  Dwarf_CFI* eh_frame();
  Dwarf_CFI* debug_frame();

 private:
  ElfFile(ElfImage image, std::string path) : ElfImage(std::move(image)), path_(std::move(path)) {}
  std::optional<FunctionRange> FunctionWithoutSymbol(uint64_t address);
  Elf* elf();
  bool OpenShared(Dwarf* dwarf);

  template <auto End>
  struct Ender {
    void operator()(auto* handle) const { End(handle); }
  };

  const std::string path_;
  std::optional<std::vector<ElfSymbol>> symbols_;
  std::unordered_multimap<std::string_view, uint64_t> functions_;  // filled when it is first asked
  // In this order: each needs those before it until it ends.
  std::unique_ptr<Elf, Ender<elf_end>> elf_;
  Fd shared_file_;  // what .gnu_debugaltlink names
  std::unique_ptr<Elf, Ender<elf_end>> shared_elf_;
  std::unique_ptr<Dwarf, Ender<dwarf_end>> shared_;
  std::optional<std::unique_ptr<Dwarf, Ender<dwarf_end>>> dwarf_;
  std::optional<std::unique_ptr<Dwarf_CFI, Ender<dwarf_cfi_end>>> eh_frame_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_FILES_ELF_FILE_H_
