// Turns the words of a record into parameters, into the words of a call, and into the fields of depth 1 and 2.
#ifndef RECRASH_TESTGEN_SYMBOLS_VALUES_RECORDED_CALL_H_
#define RECRASH_TESTGEN_SYMBOLS_VALUES_RECORDED_CALL_H_

#include <span>
#include <vector>

#include "testgen/symbols/values/frame_values.h"

namespace recrash {

// Puts the pieces of the parameter together. Leaves the parameter incomplete if a piece is missing.
void FillFromRecord(std::span<const RecordedWord> words, Parameter& parameter);

// Returns the parameters of a function without debug information: the numbers, sizes and values that the record has.
std::vector<Parameter> UntypedParameters(std::span<const RecordedWord> words);

// Appends the words of a call that pass `bytes` from the place and the offset of `first` on, in pieces of at most
// sixteen bytes. A register holds one piece: of ymm and zmm, the rest is not kept.
void AppendWords(const ReplayWord& first, std::span<const uint8_t> bytes, std::vector<ReplayWord>& words);

// Returns what the callee expects at which place.
std::vector<ReplayWord> CallWords(std::span<const RecordedWord> words);

// Returns the recorded copies of what parameters point to, with their addresses.
std::vector<ReplayField> RecordedFields(std::span<const RecordedWord> words);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_VALUES_RECORDED_CALL_H_
