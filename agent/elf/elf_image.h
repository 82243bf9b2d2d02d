// The code of a module, from its file: where functions begin, what its symbols are called, which bytes lie where.
//
// Stripped files do: beginnings come from .eh_frame_hdr. The file may be hostile; everything is checked against its
// size.
#ifndef RECRASH_AGENT_ELF_ELF_IMAGE_H_
#define RECRASH_AGENT_ELF_ELF_IMAGE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/elf/elf_notes.h"

namespace recrash {

struct KeyedSymbol {
  uint64_t address = 0;
  uint64_t size = 0;
  bool is_function = false;
  std::string key;  // symbol_key.h
};

class ElfImage {
 public:
  static Result<ElfImage> Open(const std::string& path);
  ElfImage(ElfImage&& other) noexcept;
  ~ElfImage();

  // Addresses are the file's.
  std::optional<uint64_t> FunctionStart(uint64_t address) const;
  // Of functions that begin there, as far as the symbol tables tell: one pass over them for all.
  std::map<uint64_t, std::string> FunctionNames(const std::set<uint64_t>& starts) const;
  // Functions and objects with a name: of .symtab, else of .dynsym.
  std::vector<KeyedSymbol> Symbols() const;
  // Fewer bytes where the file does not have them.
  std::span<const uint8_t> Bytes(uint64_t address, size_t size) const;
  bool IsPatchable(uint64_t start) const;        // compiled in a second-chance mode
  bool IsReturnAddress(uint64_t address) const;  // the instruction before it may be a call
  const ElfFacts& facts() const { return facts_; }

 private:
  ElfImage() = default;
  std::span<const uint8_t> FileBytes(uint64_t offset, uint64_t size) const;
  template <typename T>
  std::optional<T> Read(uint64_t offset) const;
  // Calls visit(symbol, name) for each symbol of the tables of this type; false when there is no such table.
  template <typename Visit>
  bool VisitSymbols(uint32_t table_type, Visit visit) const;

  const uint8_t* bytes_ = nullptr;
  uint64_t size_ = 0;
  ElfFacts facts_;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_ELF_ELF_IMAGE_H_
