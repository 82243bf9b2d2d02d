// For tests: a program's head with the notes that a test wants to have read.
#ifndef RECRASH_AGENT_ELF_TESTING_SMALL_ELF_H_
#define RECRASH_AGENT_ELF_TESTING_SMALL_ELF_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "shadowstack/abi.h"

namespace recrash {

inline std::string Note(const std::string& owner, uint32_t type, std::string text) {
  const Elf64_Nhdr header{static_cast<uint32_t>(owner.size()), static_cast<uint32_t>(text.size()), type};
  std::string note(reinterpret_cast<const char*>(&header), sizeof header);
  note += owner;
  note.resize((note.size() + 3) & ~size_t{3});
  note += text;
  note.resize((note.size() + 3) & ~size_t{3});
  return note;
}

// A program of one segment of code and these notes, and nothing else.
struct SmallElf {
  Elf64_Ehdr header{};
  Elf64_Phdr load{};
  Elf64_Phdr note{};
  std::string notes;

  explicit SmallElf(std::string text = "") : notes(std::move(text)) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_filesz = load.p_memsz = 0x200;
    note.p_type = PT_NOTE;
    note.p_offset = sizeof header + 2 * sizeof(Elf64_Phdr);
    note.p_filesz = notes.size();
    note.p_align = 4;
  }
  std::vector<uint8_t> bytes() const {
    std::string all(reinterpret_cast<const char*>(&header), sizeof header);
    all.append(reinterpret_cast<const char*>(&load), sizeof load);
    all.append(reinterpret_cast<const char*>(&note), sizeof note);
    all += notes;
    return {all.begin(), all.end()};
  }
};

// What the pass leaves in what it has compiled.
inline std::string BuildText(const std::string& text) {
  return Note(std::string(abi::kNoteOwner, sizeof abi::kNoteOwner), abi::kNoteBuild, text);
}

}  // namespace recrash

#endif  // RECRASH_AGENT_ELF_TESTING_SMALL_ELF_H_
