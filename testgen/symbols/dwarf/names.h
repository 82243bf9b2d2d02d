// Names of functions and types as people read them.
//
//   ReadableName("_ZN4Tree6insertESt6vectorIiSaIiEE")  // "Tree::insert(std::vector<int>)"
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_NAMES_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_NAMES_H_

#include <string>
#include <string_view>

namespace recrash {

// Returns "std::vector<int>" for "std::vector<int, std::allocator<int> >", "std::string" for
// std::__cxx11::basic_string<char, …>, ">>" for "> >". The result is still C++ and means the same.
std::string SimplifyName(std::string_view name);

// Returns the demangled name, simplified; the name itself if it is not mangled.
std::string ReadableName(const std::string& linkage_name);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_NAMES_H_
