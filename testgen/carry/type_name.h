// One spelling of a type's name, whichever compiler wrote it into debug information.
//
//   CommonTypeName("std::vector<long unsigned int>") == CommonTypeName("std::vector<unsigned long>")
//   CommonTypeName("Ring<double, 8UL> const&") == CommonTypeName("const Ring<double, 8> &")
//
// All lambdas have one name there: compilers write their places or the functions around them. Whether a closure class
// is of the same lambda IsSameTypeName says.
#ifndef RECRASH_TESTGEN_CARRY_TYPE_NAME_H_
#define RECRASH_TESTGEN_CARRY_TYPE_NAME_H_

#include <string>
#include <string_view>

namespace recrash {

std::string CommonTypeName(std::string_view name);

// Whether two builds mean the same class. A lambda (closures.h) is the same if it has the same place among those of the
// function around it, and the same line of it where there are several; where that function has more or fewer of them
// now, the same line.
bool IsSameTypeName(std::string_view recorded, std::string_view built);
bool IsLambda(std::string_view name);
// Whether both are lambdas that have the same place among as many: nothing else is known of them.
bool IsLambdaInSamePlace(std::string_view recorded, std::string_view built);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_CARRY_TYPE_NAME_H_
