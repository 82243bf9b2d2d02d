#include "shadowstack/pass/selection/build_report.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace recrash::pass {
namespace {

std::string Place(const llvm::Function& function) {
  const llvm::DISubprogram* subprogram = function.getSubprogram();
  if (!subprogram) return "?";
  return subprogram->getFilename().str() + ":" + llvm::utostr(subprogram->getLine());
}

// "src/a.cc" becomes "src_a.cc": objects of one name in several folders are told apart. Of "../" nothing is left.
std::string FileName(llvm::StringRef module) {
  std::string name;
  for (const char letter : module)
    name += llvm::isAlnum(letter) || llvm::StringRef("._+-").contains(letter) ? letter : '_';
  return llvm::StringRef(name).ltrim("._").str() + ".recrash.txt";
}

llvm::Error Failure(llvm::StringRef path, std::error_code code) {
  return llvm::createStringError(code, "cannot write the report " + path + ": " + code.message());
}

}  // namespace

void BuildReport::Add(const llvm::Function& function, const Choice& choice) {
  llvm::raw_string_ostream out(lines_);
  out << (choice.monitored ? "monitored" : "left out") << '\t' << choice.record_bytes << '\t' << choice.depth << '\t'
      << Place(function) << '\t' << choice.reason;
  if (!choice.by.empty()) out << " (" << choice.by << ')';
  out << '\t' << llvm::demangle(llvm::GlobalValue::dropLLVMManglingEscape(function.getName()).str()) << '\n';
  monitored_ += choice.monitored;
  ++functions_;
}

llvm::Expected<std::string> ReportPath(const llvm::Module& module, const Options& options) {
  if (options.report.empty() || options.report == "-") return options.report;
  llvm::SmallString<256> path(options.report);
  if (llvm::sys::path::is_separator(path.back()) || llvm::sys::fs::is_directory(path)) {
    if (const std::error_code code = llvm::sys::fs::create_directories(path)) return Failure(path, code);
    llvm::sys::path::append(path, FileName(module.getModuleIdentifier()));
  }
  llvm::sys::fs::make_absolute(path);  // it may be written by a linker that runs elsewhere
  return path.str().str();
}

llvm::Error BuildReport::Write(llvm::StringRef path, llvm::StringRef title) const {
  std::string text;
  llvm::raw_string_ostream(text) << "# " << title << ": " << monitored_ << " of " << functions_
                                 << " functions are monitored\n"
                                 << "# state\tbytes\tdepth\tplace\treason\tfunction\n"
                                 << lines_;
  if (path == "-") {
    llvm::errs() << text;
    return llvm::Error::success();
  }
  std::error_code code;
  llvm::raw_fd_ostream file(path, code, llvm::sys::fs::OF_Text);
  if (code) return Failure(path, code);
  file << text;
  file.close();
  if (!file.has_error()) return llvm::Error::success();
  code = file.error();
  file.clear_error();
  return Failure(path, code);
}

}  // namespace recrash::pass
