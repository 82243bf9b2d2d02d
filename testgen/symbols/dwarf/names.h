// Names as people read them.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_NAMES_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_NAMES_H_

#include <string>
#include <string_view>

namespace recrash {

// Returns "std::vector<int>" for "std::vector<int, std::allocator<int> >", "std::string" for
// std::__cxx11::basic_string<char, …>, ">>" for "> >". The result is still C++ and means the same.
std::string SimplifyName(std::string_view name);

// Demangled, then simplified.
std::string ReadableName(const std::string& linkage_name);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_NAMES_H_
