#include "testgen/symbols/dwarf/libcxx.h"

#include "testgen/symbols/dwarf/debug_info.h"
#include "testgen/symbols/dwarf/types.h"

namespace recrash {

// A mere declaration has no file. But default template arguments in its name lie in libc++'s inline namespace.
bool IsOfLibcxx(Dwarf_Die type) {
  return DieName(type).find("std::__1::") != std::string::npos ||
         DebugInfo::DeclaredAt(type).file.find("/c++/v1/") != std::string::npos;
}

}  // namespace recrash
