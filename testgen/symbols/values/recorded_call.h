// The words of a record as parameters, as the words of a call, and as the fields that depth 1 and 2 write back.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_RECORDED_CALL_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_RECORDED_CALL_H_

#include <span>
#include <vector>

#include "testgen/symbols/values/frame_values.h"

namespace recrash {

// Puts the pieces of the parameter together. Leaves it incomplete when one is missing.
void FillFromRecord(std::span<const RecordedWord> words, Parameter& parameter);

// Parameters of a function without debug information, as far as the record tells: numbers, sizes, values.
std::vector<Parameter> UntypedParameters(std::span<const RecordedWord> words);

// What the callee expects where; pieces of at most sixteen bytes.
std::vector<ReplayWord> CallWords(std::span<const RecordedWord> words);

// Copies of what parameters point to, at the addresses they have.
std::vector<ReplayField> RecordedFields(std::span<const RecordedWord> words);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_RECORDED_CALL_H_
