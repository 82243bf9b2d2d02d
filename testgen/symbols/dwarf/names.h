// Names as people read them.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_NAMES_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_NAMES_H_

#include <string>
#include <string_view>

namespace recrash {

// "std::vector<int, std::allocator<int> >" as "std::vector<int>", std::__cxx11::basic_string<char, …> as "std::string",
// "> >" as ">>". What is left is still C++ that means the same.
std::string SimplifyName(std::string_view name);

// Demangled, then simplified.
std::string ReadableName(const std::string& linkage_name);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_NAMES_H_
