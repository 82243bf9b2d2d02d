// One ELF file, mapped: its segments, sections and symbols, where its functions begin, which bytes lie where.
//
//   const Result<ElfImage> image = ElfImage::Open(module.path);
//   if (!image) return image.error();
//   const std::optional<uint64_t> start = image->FunctionStart(pc.value - module.bias);
//
// Addresses are those of the file (p_vaddr). The file may be hostile: each offset and each count is checked against its
// size. What is returned points into the mapped file, and lives as long as the image.
#ifndef RECRASH_AGENT_ELF_ELF_IMAGE_H_
#define RECRASH_AGENT_ELF_ELF_IMAGE_H_

#include <sys/mman.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/fd.h"
#include "agent/base/result.h"
#include "agent/elf/elf_notes.h"

namespace recrash {

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;  // SHT_*
  uint32_t link = 0;  // the index of another section: for a symbol table, of its strings
  bool executable = false;
  std::span<const uint8_t> bytes;  // empty if the file has none: .bss, and what a .debug file only names
};

// What the loader writes into a word of the file when it loads it.
struct ElfRelocation {
  std::string_view symbol;  // the word gets its address; empty: none
  int64_t addend = 0;       // without a symbol: an address of the file
};

// A function or an object that has a name and is defined in the file.
struct ElfSymbol {
  uint64_t address = 0;
  uint64_t size = 0;
  std::string_view name;
  std::string_view file;  // for a local symbol: the text of the STT_FILE symbol before it
  bool is_function = false;
  bool is_local = false;
  bool is_thread_local = false;  // the address is an offset in the module's thread-local block
};

struct Unmap {
  uint64_t size = 0;
  void operator()(const uint8_t* bytes) const { munmap(const_cast<uint8_t*>(bytes), size); }
};

class ElfImage {
 public:
  // Maps the file. Fails with kMissing if there is no such file, with kRefused if it cannot be mapped, and with
  // kDamaged if it is not an ELF file that can be loaded.
  static Result<ElfImage> Open(const std::string& path);

  // The build-id is that of a note section if there is one: in a .debug file, segments lead to other bytes.
  const ElfFacts& facts() const { return facts_; }
  int descriptor() const { return file_.get(); }

  // Returns the first section of that name; null if there is none, or if the file has no bytes of it.
  const ElfSection* FindSection(std::string_view name) const;
  bool has_symtab() const;  // .symtab, not only .dynsym
  bool has_code() const;    // false for the .debug half of a stripped file

  // Calls `visit` for each function and variable of .symtab or, if there is none, of .dynsym.
  void VisitSymbols(const std::function<void(const ElfSymbol&)>& visit) const;
  // Returns the relocations by the address of their word.
  std::map<uint64_t, ElfRelocation> Relocations() const;
  // Returns the names of those functions that begin at one of the addresses.
  std::map<uint64_t, std::string> FunctionNames(const std::set<uint64_t>& starts) const;

  // Returns the segment that holds the address; null if none does.
  const ElfLoad* LoadAt(uint64_t address) const;
  // Returns `size` bytes of a segment; fewer where the segment has no more of them in the file.
  std::span<const uint8_t> Bytes(uint64_t address, size_t size) const;
  // Returns where the function begins that holds the address, by .eh_frame_hdr, which stripped files have too.
  std::optional<uint64_t> FunctionStart(uint64_t address) const;
  // Returns the address of the FDE of that function.
  std::optional<uint64_t> FrameDescription(uint64_t address) const;
  bool IsPatchable(uint64_t start) const;        // compiled in a second-chance mode
  bool IsReturnAddress(uint64_t address) const;  // the instruction before it may be a call

 private:
  ElfImage() = default;
  void ReadSections();
  std::span<const uint8_t> FileBytes(uint64_t offset, uint64_t size) const;
  template <typename T>
  std::optional<T> Read(uint64_t offset) const;

  Fd file_;
  std::unique_ptr<const uint8_t, Unmap> mapped_;
  ElfFacts facts_;
  std::vector<ElfSection> sections_;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_ELF_ELF_IMAGE_H_
