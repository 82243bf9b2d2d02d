#include "shadowstack/pass/selection/function_list.h"

#include <cstdlib>
#include <map>
#include <utility>

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace recrash::pass {
namespace {

constexpr char kSection[] = "recrash";

llvm::Error ErrorAt(llvm::StringRef path, size_t line, const llvm::Twine& what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), path + ":" + llvm::Twine(line) + ": " + what);
}

std::unique_ptr<llvm::SpecialCaseList> Parse(const llvm::Twine& text, std::string& error) {
  const std::unique_ptr<llvm::MemoryBuffer> buffer = llvm::MemoryBuffer::getMemBufferCopy(text.str());
  return llvm::SpecialCaseList::create(buffer.get(), error);
}

std::string TakeText(char* text) {
  std::string result = text ? text : "";
  std::free(text);
  return result;
}

// How a list may name a function, by the kind of the line: fun, type, src.
using Names = std::map<std::string, std::vector<std::string>>;

void AddSource(llvm::StringRef directory, llvm::StringRef file, Names& names) {
  file.consume_front("./");
  names["src"].push_back(file.str());
  if (llvm::sys::path::is_absolute(file)) return;
  llvm::SmallString<256> full(directory);
  if (directory.empty()) llvm::sys::fs::current_path(full);
  llvm::sys::path::append(full, file);
  names["src"].push_back(full.str().str());
}

Names NamesOf(const llvm::Function& function) {
  Names names;
  const std::string mangled = llvm::GlobalValue::dropLLVMManglingEscape(function.getName()).str();
  names["fun"].push_back(mangled);
  llvm::ItaniumPartialDemangler demangler;
  if (!demangler.partialDemangle(mangled.c_str()) && demangler.isFunction()) {
    names["fun"].push_back(TakeText(demangler.finishDemangle(nullptr, nullptr)));
    names["fun"].push_back(TakeText(demangler.getFunctionName(nullptr, nullptr)));
    const std::string type = TakeText(demangler.getFunctionDeclContextName(nullptr, nullptr));
    if (!type.empty()) names["type"].push_back(type);
  }
  if (const llvm::DISubprogram* subprogram = function.getSubprogram())
    AddSource(subprogram->getDirectory(), subprogram->getFilename(), names);
  else
    AddSource("", function.getParent()->getSourceFileName(), names);
  return names;
}

}  // namespace

llvm::Expected<FunctionList> FunctionList::Read(const std::vector<std::string>& paths) {
  FunctionList list;
  for (const std::string& path : paths) {
    const auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
    if (!buffer)
      return llvm::createStringError(buffer.getError(), llvm::Twine(path) + ": " + buffer.getError().message());
    if (llvm::Error error = list.Add(path, (*buffer)->getBuffer())) return error;
  }
  return list;
}

llvm::Error FunctionList::Add(llvm::StringRef path, llvm::StringRef text) {
  // "#!special-case-list-v1" on the first line makes patterns regular expressions: each of our small lists needs it.
  const std::string version = text.starts_with("#!") ? text.split('\n').first.str() : "#";
  bool applies = true;
  std::string error;
  for (size_t number = 1; !text.empty(); ++number) {
    llvm::StringRef line;
    std::tie(line, text) = text.split('\n');
    line = line.trim();
    if (line.empty() || line.starts_with("#")) continue;
    if (line.starts_with("[")) {
      const auto section = Parse(version + "\n" + line + "\nfun:x\n", error);
      if (!section || !line.ends_with("]")) return ErrorAt(path, number, "not a section: " + line);
      applies = section->inSection(kSection, "fun", "x");
      continue;
    }
    if (!applies) continue;
    const auto [kind, rest] = line.split(':');
    if (rest.empty() || (kind != "fun" && kind != "src" && kind != "type"))
      return ErrorAt(path, number, "expected fun:, src: or type: and a pattern, found: " + line);
    Entry entry;
    entry.kind = kind.str();
    entry.category = rest.split('=').second.str();
    if (!Understand(entry.category.empty() ? "never" : entry.category, entry.wish))
      return ErrorAt(path, number, "expected " + llvm::Twine(kWishWords) + " after =, found: " + line);
    if (entry.wish.monitored) entry.wish.by = (path + ":" + llvm::Twine(number)).str();
    entry.pattern = Parse(version + "\n" + line + "\n", error);
    if (!entry.pattern) return ErrorAt(path, number, "not a pattern: " + line);
    entries_.push_back(std::move(entry));
  }
  return llvm::Error::success();
}

Wish FunctionList::WishFor(const llvm::Function& function) const {
  Wish wish;
  if (entries_.empty()) return wish;
  Names names = NamesOf(function);
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    for (const std::string& name : names[entry->kind])
      if (entry->pattern->inSection(kSection, entry->kind, name, entry->category)) {
        wish = Combined(std::move(wish), entry->wish);
        break;
      }
  return wish;
}

}  // namespace recrash::pass
