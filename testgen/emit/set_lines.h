// Writes values that a test gives to parts of its arguments (testgen/literals).
//
//   SetLines(literals, 1);  // "  frame.Set(\"self->names_\", {\"news\", \"mail\"});\n"
#ifndef RECRASH_TESTGEN_EMIT_SET_LINES_H_
#define RECRASH_TESTGEN_EMIT_SET_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "recrash/value.h"
#include "testgen/literals/find_literals.h"

namespace recrash {

// Returns the value as an expression, which test.h reads as this value again: `{1, "a", std::nullopt}`.
std::string ValueSource(const Value& value);

// Returns the statements for one parameter; empty: it has none.
std::string SetLines(const std::vector<Literal>& literals, uint8_t parameter);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_EMIT_SET_LINES_H_
