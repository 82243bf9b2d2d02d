// Writes values as C++ expressions. A value that has no literal (a class, a long double, a NaN) gives none; its test
// loads it from the report.
#ifndef RECRASH_TESTGEN_EMIT_LITERAL_H_
#define RECRASH_TESTGEN_EMIT_LITERAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "testgen/symbols/backtrace.h"

namespace recrash {

// For a bool, integer, character, float or enumeration. REQUIRES: `bytes` has type.size bytes.
std::optional<std::string> ScalarLiteral(const Type& type, const std::vector<uint8_t>& bytes);

// An enumeration that the test defines again.
struct EnumLiteral {
  std::string name;        // "Encoding"
  std::string definition;  // "enum class Encoding : std::uint32_t { kAscii = 0, kUtf8 = 1 };"
  std::string value;       // "Encoding::kUtf8", or "static_cast<Encoding>(7)"
  bool named = false;      // an enumerator has this value
};
// Gives none if there are too many enumerators to read, or names that source cannot have.
std::optional<EnumLiteral> MakeEnumLiteral(const Type& type, const std::vector<uint8_t>& bytes);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_LITERAL_H_
