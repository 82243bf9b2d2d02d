// How long the vtable of a class is, as far as the class itself declares virtual functions.
//
//   layout->slots = VtableSlots(type);
#ifndef RECRASH_TESTGEN_SYMBOLS_LAYOUT_VTABLE_SLOTS_H_
#define RECRASH_TESTGEN_SYMBOLS_LAYOUT_VTABLE_SLOTS_H_

#include <elfutils/libdw.h>

#include <cstdint>

namespace recrash {

// Returns the highest number of a declared function's slot and 1; 0 if the class declares none. clang says where a
// destructor lies and g++ does not: then that follows from the functions before it and from the bases. Destructors that
// nobody wrote do not count, since compilers differ in whether they tell of them.
uint32_t VtableSlots(Dwarf_Die& type);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_LAYOUT_VTABLE_SLOTS_H_
