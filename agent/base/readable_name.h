// Names of functions, types and signals as people know them.
//
//   Demangle("_ZN4Tree6insertEi")  // "Tree::insert(int)"
#ifndef RECRASH_AGENT_BASE_READABLE_NAME_H_
#define RECRASH_AGENT_BASE_READABLE_NAME_H_

#include <string>

namespace recrash {

// A function or variable; the name itself when it is not mangled. ThinLTO's ".llvm.123" is left out.
std::string Demangle(const std::string& linkage_name);

// "St8bad_cast" as "std::bad_cast"; the name itself when it is no type's.
std::string DemangleType(const std::string& name);

std::string SignalName(int signal);  // "SIGSEGV", "signal 41"

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_READABLE_NAME_H_
