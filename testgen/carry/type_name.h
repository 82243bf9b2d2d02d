// One spelling of a type's name, whichever compiler wrote it into debug information.
//
//   CommonTypeName("std::vector<long unsigned int>") == CommonTypeName("std::vector<unsigned long>")
//   CommonTypeName("Ring<double, 8UL> const&") == CommonTypeName("const Ring<double, 8> &")
//
// A lambda keeps the name of its file alone: lines move.
#ifndef RECRASH_TESTGEN_CARRY_TYPE_NAME_H_
#define RECRASH_TESTGEN_CARRY_TYPE_NAME_H_

#include <string>
#include <string_view>

namespace recrash {

std::string CommonTypeName(std::string_view name);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_CARRY_TYPE_NAME_H_
