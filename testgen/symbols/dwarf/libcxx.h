// Which of the two C++ standard libraries a class is from. Their classes have the same names and other members.
#ifndef RECRASH_TESTGEN_SYMBOLS_DWARF_LIBCXX_H_
#define RECRASH_TESTGEN_SYMBOLS_DWARF_LIBCXX_H_

#include <elfutils/libdw.h>

namespace recrash {

// Returns true if `type`, a class in namespace std, is libc++'s.
bool IsOfLibcxx(Dwarf_Die type);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_DWARF_LIBCXX_H_
