// Why the text looks as it does:
//  - ${:uid} is a number of its own for each copy of the asm that the backend prints, so inlining and tail duplication
//    may copy it.
//  - "o" (SHF_LINK_ORDER) ties the descriptor to the section of the label: --gc-sections keeps and drops both together.
//  - "?" puts it into the group of that section; without it a program with templates does not link ("defined in
//    discarded section").
//  - All references are relative, so position-independent programs need no relocations at run time.
#include "shadowstack/pass/descriptor.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace recrash::pass {

std::string DescriptorAssembly(llvm::StringRef linkage_name, llvm::ArrayRef<abi::MapWord> words) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const uint64_t hash = abi::HashLinkageName(linkage_name.data(), linkage_name.size());
  out << ".Lrecrash${:uid}:\n"
      << ".pushsection " << abi::kMapSection << ",\"ao?\",@progbits,.Lrecrash${:uid}\n"
      << ".balign 4\n"
      << ".Lrecrash_map${:uid}:\n"
      << ".long .Lrecrash${:uid}-.\n"
      << ".short .Lrecrash_end${:uid}-.Lrecrash_map${:uid}\n"
      << ".byte " << unsigned{abi::kMapVersion} << "," << words.size() << "\n"
      << ".quad 0x" << llvm::utohexstr(hash) << "\n";
  for (const abi::MapWord& word : words) {
    out << ".byte " << unsigned{word.kind} << "," << unsigned{word.location} << "," << unsigned{word.parameter} << ","
        << unsigned{word.flags} << "\n"
        << ".short " << word.size << "," << word.record_offset << "," << word.source_offset << "," << word.stack_offset
        << "\n";
  }
  out << ".asciz \"$0\"\n"
      << ".balign 4\n"
      << ".Lrecrash_end${:uid}:\n"
      << ".popsection";
  return text;
}

}  // namespace recrash::pass
