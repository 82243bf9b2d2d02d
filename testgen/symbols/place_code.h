// The code of the recorded place in another build: the same source line, and the rest of its function, in each copy of
// that.
//
//   const PlaceCode code = FindPlaceCode(report.replay, symbols);   // symbols of the build of today
//   for (const PlaceInstruction& instruction : code.instructions) Watch(instruction.at);
//
// The function is found by its name. A line of it moves when the file is edited: it is found by its distance from the
// line that declares the function. If there is no code of that line in this build, nothing is found.
#ifndef RECRASH_TESTGEN_SYMBOLS_PLACE_CODE_H_
#define RECRASH_TESTGEN_SYMBOLS_PLACE_CODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/symbols/symbols.h"
#include "testgen/symbols/values/memory_access.h"

namespace recrash {

struct PlaceInstruction {
  TargetAddress at;
  uint32_t line = 0;
  bool is_place = false;               // else it is of the rest of the function
  uint32_t copy = 0;                   // of the function: out of line, or one inlined call
  std::optional<MemoryAccess> access;  // nothing: it accesses no memory, or what it accesses is not known
};

struct PlaceCode {
  std::string where;                           // "parser.cc:86", as this build has it; empty: it was not found
  std::vector<PlaceInstruction> instructions;  // ascending by address
};

PlaceCode FindPlaceCode(const ReplayData& recorded, const Symbols& symbols);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_SYMBOLS_PLACE_CODE_H_
