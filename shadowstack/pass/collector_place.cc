#include "shadowstack/pass/collector_place.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "shadowstack/abi.h"

namespace recrash::pass {
namespace {

// Empty if none is installed: in a build tree.
std::string InstalledCollector() {
  Dl_info plugin;
  if (dladdr(reinterpret_cast<const void*>(&AddCollectorPlace), &plugin) == 0) return "";
  std::error_code error;
  const std::filesystem::path library = std::filesystem::canonical(plugin.dli_fname, error);
  if (error) return "";
  const std::string path = library.parent_path().parent_path().parent_path() / "bin/recrash-collector";
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

}  // namespace

void AddCollectorPlace(llvm::Module& module) {
  const std::string path = InstalledCollector();
  if (path.empty()) return;
  llvm::Constant* text = llvm::ConstantDataArray::getString(module.getContext(), path);
  auto* place = new llvm::GlobalVariable(module, text->getType(), /*isConstant=*/true,
                                         llvm::GlobalValue::WeakODRLinkage, text, abi::kCollectorPlace);
  place->setVisibility(llvm::GlobalValue::HiddenVisibility);
  place->setComdat(module.getOrInsertComdat(abi::kCollectorPlace));
}

}  // namespace recrash::pass
