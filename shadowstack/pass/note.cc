// A variable rather than assembler text, so that full LTO merges it as well. It lies in a group named after its text:
// the linker keeps one of each. llvm.used makes the section SHF_GNU_RETAIN; without it --gc-sections drops it, since
// lld collects notes that are in a group.
#include "shadowstack/pass/note.h"

#include <string>

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "shadowstack/abi.h"

namespace recrash::pass {
namespace {

constexpr char kSymbolPrefix[] = "__recrash_build_";

void AppendWord(std::string& bytes, uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

void AppendPadded(std::string& bytes, llvm::StringRef text) {
  bytes += text;
  bytes.push_back('\0');
  while (bytes.size() % 4 != 0) bytes.push_back('\0');
}

}  // namespace

bool HasBuildNote(const llvm::Module& module) {
  for (const llvm::GlobalVariable& variable : module.globals())
    if (variable.getName().starts_with(kSymbolPrefix)) return true;
  return false;
}

void AddBuildNote(llvm::Module& module, const Options& options) {
  const std::string text = std::string("mode=") + TraitsOf(options.mode).name + ";version=" + options.version;
  std::string bytes;
  AppendWord(bytes, sizeof(abi::kNoteOwner));
  AppendWord(bytes, static_cast<uint32_t>(text.size() + 1));
  AppendWord(bytes, abi::kNoteBuild);
  AppendPadded(bytes, abi::kNoteOwner);
  AppendPadded(bytes, text);

  const std::string name = kSymbolPrefix + llvm::utohexstr(abi::HashLinkageName(text.data(), text.size()));
  llvm::Constant* content = llvm::ConstantDataArray::getString(module.getContext(), bytes, /*AddNull=*/false);
  auto* note = new llvm::GlobalVariable(module, content->getType(), /*isConstant=*/true,
                                        llvm::GlobalValue::LinkOnceODRLinkage, content, name);
  note->setVisibility(llvm::GlobalValue::HiddenVisibility);
  note->setSection(abi::kNoteSection);
  note->setAlignment(llvm::Align(4));
  note->setComdat(module.getOrInsertComdat(name));
  llvm::appendToUsed(module, {note});
}

}  // namespace recrash::pass
