// What the callers of a function catch: their exception tables (.gcc_except_table), read from the files.
//
//   HandlerReader handlers(modules);
//   const Handlers here = handlers.At(frame.lookup_pc());
//   for (const std::string& type : here.types) fmt::print("catches {}\n", type);  // "St9exception"; "" for catch (...)
//
// A handler that may throw again does not count: a function that calls __cxa_rethrow has none.
#ifndef RECRASH_TESTGEN_SYMBOLS_STACK_HANDLERS_H_
#define RECRASH_TESTGEN_SYMBOLS_STACK_HANDLERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "testgen/symbols/files/module_set.h"

namespace recrash {

struct Handlers {
  std::vector<std::string> types;  // as std::type_info::name() gives them; "": any
  bool ends = false;               // an exception that comes here goes no further: std::terminate, or it is not known
};

class HandlerReader {
 public:
  explicit HandlerReader(ModuleSet& modules) : modules_(modules) {}

  // Returns what is caught of an exception that leaves the call at `pc`, an address inside the call instruction.
  Handlers At(TargetAddress pc);

  // Returns the calls in the function at `function` that lead straight to one of `targets`, as At takes them, or
  // through a table of the linker.
  std::vector<TargetAddress> CallsIn(TargetAddress function, const std::set<TargetAddress>& targets);

 private:
  using Relocations = std::map<uint64_t, ElfRelocation>;

  const Relocations& RelocationsOf(LoadedModule& module);
  // The name of the function that is called at an address of the file: its own, or that of the import that a stub leads
  // to.
  std::string CalledAt(LoadedModule& module, uint64_t target);
  // The name of the import that a stub of the linker leads to; "": there is none.
  std::string ImportedAt(LoadedModule& module, uint64_t target);
  std::set<std::string> NamesOf(const std::set<TargetAddress>& functions);
  bool Calls(LoadedModule& module, uint64_t start, uint64_t size, const char* name);
  // Does a landing pad end the program? That is how clang compiles `noexcept`.
  bool Terminates(LoadedModule& module, uint64_t pad);
  bool ThrowsAgain(LoadedModule& module, uint64_t function, uint64_t pad);
  std::optional<std::string> TypeAt(LoadedModule& module, uint64_t type_info);

  ModuleSet& modules_;
  std::map<const LoadedModule*, Relocations> relocations_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_STACK_HANDLERS_H_
