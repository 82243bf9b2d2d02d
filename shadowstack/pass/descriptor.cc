// Why the text looks as it does:
//  - ${:uid} is a number of its own for each copy of the asm that the backend prints, so inlining and tail duplication
//    may copy it.
//  - "o" (SHF_LINK_ORDER) ties the descriptor to the section of the label: --gc-sections keeps and drops both together.
//  - "?" puts it into the group of that section; without it a program with templates does not link ("defined in
//    discarded section").
//  - Not "a": the section is not loaded, so that programs do not grow by it in memory; the tools read it from the file.
//    The reference to the label is absolute for that, and resolved when the program is linked.
#include "shadowstack/pass/descriptor.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace recrash::pass {

std::string DescriptorAssembly(llvm::StringRef linkage_name, llvm::ArrayRef<abi::MapWord> words, bool has_record) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const uint64_t hash = abi::HashLinkageName(linkage_name.data(), linkage_name.size());
  out << ".Lrecrash${:uid}:\n"
      << ".pushsection " << abi::kMapSection << ",\"o?\",@progbits,.Lrecrash${:uid}\n"
      << ".balign 4\n"
      << ".Lrecrash_map${:uid}:\n"
      << ".quad .Lrecrash${:uid}\n"
      << ".quad 0x" << llvm::utohexstr(hash) << "\n"
      << ".short .Lrecrash_end${:uid}-.Lrecrash_map${:uid}\n"
      << ".byte " << unsigned{abi::kMapVersion} << "," << words.size() << "\n";
  for (const abi::MapWord& word : words) {
    out << ".byte " << unsigned{word.kind} << "," << unsigned{word.location} << "," << unsigned{word.parameter} << ","
        << unsigned{word.flags} << "\n"
        << ".short " << word.size << "," << word.record_offset << "," << word.source_offset << "," << word.stack_offset
        << "\n";
  }
  out << (has_record ? ".asciz \"$0\"\n" : ".asciz \"\"\n") << ".balign 4\n"
      << ".Lrecrash_end${:uid}:\n"
      << ".popsection";
  return text;
}

}  // namespace recrash::pass
