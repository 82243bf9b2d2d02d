#include "shadowstack/pass/selection/options.h"

#include <iterator>
#include <utility>

#include "llvm/ADT/Twine.h"
#include "llvm/Support/CommandLine.h"
#include "shadowstack/pass/selection/wish.h"

namespace recrash::pass {
namespace {

namespace cl = llvm::cl;

template <size_t... Index>
cl::ValuesClass ModeValues(std::index_sequence<Index...>) {
  return cl::values(cl::OptionEnumValue{abi::kModes[Index].name, static_cast<int>(abi::kModes[Index].mode),
                                        abi::kModes[Index].meaning}...);
}

cl::opt<Mode> mode_option("recrash-mode", cl::desc("What recrash keeps of each call"), cl::init(Mode::kReferences),
                          ModeValues(std::make_index_sequence<std::size(abi::kModes)>()));
cl::opt<int> depth_option("recrash-depth", cl::desc("How far mode full follows pointers (0, 1 or 2)"), cl::init(1));
cl::opt<std::string> version_option("recrash-version", cl::desc("Identifier of this build, shown in reports"));
cl::opt<bool> std_option("recrash-std", cl::desc("Instrument functions of namespace std as well"), cl::init(false));

cl::list<std::string> list_option("recrash-list", cl::desc("Which functions to monitor: a special case list"));
cl::opt<Step> lto_option("recrash-lto", cl::desc("Under -flto, where records are made"), cl::init(Step::kCompile),
                         cl::values(clEnumValN(Step::kCompile, "compile", "in the compile step, for any linker"),
                                    clEnumValN(Step::kLink, "link",
                                               "in the link step, by lld with --load-pass-plugin")));
cl::opt<std::string> report_option("recrash-report",
                                   cl::desc("Write what is monitored to this file or folder, or to -"));

}  // namespace

llvm::Expected<Options> OptionsFromCommandLine() {
  if (depth_option < 0 || depth_option > kMaxDepth)
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "-recrash-depth=" + llvm::Twine(depth_option) + ": the depth is 0, 1 or 2");
  Options options;
  options.mode = mode_option;
  options.depth = depth_option;
  options.version = version_option;
  options.std_functions = std_option;
  options.lists.assign(list_option.begin(), list_option.end());
  options.lto = lto_option;
  options.report = report_option;
  return options;
}

}  // namespace recrash::pass
