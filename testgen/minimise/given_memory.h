// What a frame was given, in parts: registers, globals, the stack of its callers, the blocks of the heap. Only memory
// that its replay touches is of interest: the rest cannot matter.
//
//   const GivenMemory given = FindGivenMemory(report, frame, memory, touched);
//   for (const Part& part : given.parts) patches.push_back(part.bytes);
#ifndef RECRASH_TESTGEN_MINIMISE_GIVEN_MEMORY_H_
#define RECRASH_TESTGEN_MINIMISE_GIVEN_MEMORY_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "agent/report/report.h"
#include "testgen/literals/start_memory.h"
#include "testgen/minimise/patch.h"

namespace recrash {

enum class PartKind : uint8_t {
  kRegister,
  kGlobal,
  kCallersStack,
  kBelowStack,  // left over from calls that have returned
  kBlock,
  kFreedBlock,
  kUnusedHeap,   // of which no block has been cut
  kUnknownHeap,  // behind a place where the chain of blocks is broken
  kMappedBlock,  // has a mapping of its own
};

const char* PartText(PartKind kind);  // "block", "the callers' stack"

struct Part {
  PartKind kind = PartKind::kBlock;
  uint64_t start = 0;  // of the whole part; of a register plan::RegisterAddress
  uint64_t size = 0;
  std::string name = {};  // of a global, of a register
  Patch bytes = {};       // that an experiment may replace
};

struct GivenMemory {
  std::vector<Part> parts;  // that the replay may touch; what is nearest to the call comes first
  uint64_t count = 0;       // of all parts, touched or not
  uint64_t fixed = 0;       // bytes in touched pages of which nothing is known: no experiment replaces them
};

// Pages, outside the modules, that a replay can touch and that an experiment may replace: what is to be watched.
std::vector<TargetAddress> PagesToWatch(const TestReport& report, const StartMemory& memory);

// `touched`: those of PagesToWatch that the replay touches. Freed blocks keep what malloc needs of them.
GivenMemory FindGivenMemory(const TestReport& report, const ReplayFrame& frame, const StartMemory& memory,
                            const std::vector<TargetAddress>& touched);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_MINIMISE_GIVEN_MEMORY_H_
