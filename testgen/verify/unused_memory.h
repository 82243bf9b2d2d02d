// Memory of the recorded process that no call of the program's own leads to: the client's, and the loader's.
//
//   LeaveOutUnusedMemory(&report);  // of the crash and of all entry states; zero pages are in its place
#ifndef RECRASH_TESTGEN_VERIFY_UNUSED_MEMORY_H_
#define RECRASH_TESTGEN_VERIFY_UNUSED_MEMORY_H_

#include <vector>

#include "agent/report/report.h"

namespace recrash {

struct UnusedRange {
  TargetAddress start;
  TargetAddress end;
};

// What the client keeps for each thread (agent/client/threads.cc): the stack on which its handlers ran, and the copy of
// the stack at the last throw, which the report has as ThrownStack. Found by what the block between them says of
// itself. Whole pages. Not a stack on which the program itself was: a handler of its own runs there too.
std::vector<UnusedRange> MemoryOfClient(const TestReport& report);

// Entries of the loader's tables of unique symbols (STB_GNU_UNIQUE), each of 32 bytes: a hash, a name and a symbol of a
// module, and that module's link_map. A replay has a loader with tables of its own. `maps` are all link_maps.
std::vector<TargetAddress> UniqueSymbols(const Report& report, const std::vector<TargetAddress>& maps);

// Zeros in the place of these entries, which ascend.
void ClearUniqueSymbols(const std::vector<TargetAddress>& symbols, std::vector<Region>* memory);

// Both, and the data of the loader, which stays the process's own in a replay.
void LeaveOutUnusedMemory(TestReport* report);

}  // namespace recrash

#endif  // RECRASH_TESTGEN_VERIFY_UNUSED_MEMORY_H_
