// Says what lies at an address of code: the function, the calls inlined there, names, lines, parameters.
//
//   CodeReader code(modules);
//   const CodeInfo& info = code.At(frame.lookup_pc());
//   if (!info.live.empty()) name = info.live.back().function;
//
// Each address is read once: a deep recursion has few of them.
#ifndef RECRASH_TESTGEN_SYMBOLS_STACK_CODE_INFO_H_
#define RECRASH_TESTGEN_SYMBOLS_STACK_CODE_INFO_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/files/module_set.h"
#include "testgen/symbols/stack/frame.h"
#include "testgen/symbols/stack/record_map.h"

namespace recrash {

struct ParameterInfo {
  Dwarf_Die die{};       // of this instance of the function, with the location; else the declaration's
  bool has_die = false;  // `die` is of this instance
  std::optional<Dwarf_Die> type;
  Parameter described;  // all but the value
};

// A function that runs at an address: the one that is out of line, or one that was inlined into it.
struct LiveFunction {
  Dwarf_Die die{};
  bool inlined = false;
  std::string linkage_name;
  std::string function;
  SourceLine declared;
  SourceLine at;        // the line in this function
  bool returns = true;  // false: it is declared never to return
  std::vector<ParameterInfo> parameters;
};

struct CodeInfo {
  LoadedModule* module = nullptr;      // null: no file for the address
  DebugInfo* debug = nullptr;          // of the module; null when it has none
  const RecordMap* map = nullptr;      // of the module
  std::optional<FunctionRange> range;  // addresses in the file
  TargetAddress entry;                 // 0 when not known
  std::optional<CodeScopes> scopes;
  std::vector<LiveFunction> live;  // innermost first; the last is the one out of line. Empty without a function
  std::vector<uint64_t> hashes;    // of the function's names
};

class CodeReader {
 public:
  explicit CodeReader(ModuleSet& modules) : modules_(modules) {}
  // Returns what lies at the address. The reference stays valid as long as the reader.
  const CodeInfo& At(TargetAddress address);
  // Returns the DIE of the call that returns to the address; nothing if DWARF has none.
  const std::optional<Dwarf_Die>& CallSiteAt(TargetAddress return_address);
  ModuleSet& modules() { return modules_; }
  // Returns null if the module has no DWARF.
  DebugInfo* DebugOf(const LoadedModule* module);

 private:
  std::unique_ptr<CodeInfo> Read(TargetAddress address);
  void ReadDebug(CodeInfo& info, uint64_t offset);

  ModuleSet& modules_;
  // Of the modules, each read when an address in the module is first asked for.
  std::map<const LoadedModule*, DebugInfo> debug_;
  std::map<const LoadedModule*, RecordMap> maps_;
  std::map<TargetAddress, std::unique_ptr<CodeInfo>> known_;
  std::map<TargetAddress, std::optional<Dwarf_Die>> call_sites_;
};

// Returns the parameters in the order of the source. Their numbers are the declaration's: an optimised instance may
// leave some parameters out.
std::vector<ParameterInfo> ParametersOf(DebugInfo& debug, Dwarf_Die function);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_STACK_CODE_INFO_H_
