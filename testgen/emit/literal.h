// Values as C++ expressions. What has no literal (a class, a long double, a NaN) is loaded from the report.
#ifndef RECRASH_TESTGEN_EMIT_LITERAL_H_
#define RECRASH_TESTGEN_EMIT_LITERAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "testgen/symbols/backtrace.h"

namespace recrash {

// Bool, integer, character or float. `bytes` has type.size bytes.
std::optional<std::string> ScalarLiteral(const Type& type, const std::vector<uint8_t>& bytes);

// An enumeration, redefined inside a test.
struct EnumLiteral {
  std::string name;        // "Encoding"
  std::string definition;  // "enum class Encoding : std::uint32_t { kAscii = 0, kUtf8 = 1 };"
  std::string value;       // "Encoding::kUtf8", or "static_cast<Encoding>(7)"
  bool named = false;      // an enumerator has this value
};
// None when it has too many enumerators to be read, or names that cannot be written.
std::optional<EnumLiteral> MakeEnumLiteral(const Type& type, const std::vector<uint8_t>& bytes);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_LITERAL_H_
