// Names of functions, types and signals as people know them.
//
//   Demangle("_ZN4Tree6insertEi")  // "Tree::insert(int)"
#ifndef RECRASH_AGENT_BASE_READABLE_NAME_H_
#define RECRASH_AGENT_BASE_READABLE_NAME_H_

#include <string>

namespace recrash {

// Returns the name of a function or variable without its mangling, and without ThinLTO's ".llvm.123".
std::string Demangle(const std::string& linkage_name);

// Returns "std::bad_cast" for "St8bad_cast", and the name itself if it is not that of a type.
std::string DemangleType(const std::string& name);

std::string SignalName(int signal);  // "SIGSEGV", "signal 41"

}  // namespace recrash

#endif  // RECRASH_AGENT_BASE_READABLE_NAME_H_
