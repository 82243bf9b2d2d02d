// Runs testdata/entries.cc under ptrace and keeps its memory at each entry that it tells of: what the recorder in the
// program, and the collector after the crash, have to come to as well.
#ifndef RECRASH_AGENT_CLIENT_RECORD_TESTING_TRACE_H_
#define RECRASH_AGENT_CLIENT_RECORD_TESTING_TRACE_H_

#include <map>
#include <string>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

struct TracedEntry {
  TargetAddress sp;
  TargetAddress brk_end;
  std::vector<Mapping> mappings;
  std::vector<OpenFile> files;
  std::vector<Region> memory;
};

struct TracedRun {
  int status = 0;
  std::string output;
  std::vector<TracedEntry> entries;  // oldest first
  std::vector<Report> reports;       // one, or none; of a collector, and then those that the program wrote itself
};

// Pages by address.
using Contents = std::map<uint64_t, std::vector<uint8_t>>;

// The state as a replay has it: the crash's memory, the entry's pages over it.
Contents MemoryAt(const Report& report, const EntryState& state);

// `variables` beside those that the client needs; REFUSE: `userfaultfd`, as Docker's default profile does, `tracking`,
// as a kernel before 6.7, `reads`, process_vm_readv alone, `both`, as an old Docker, or `copies`, these and pipes.
TracedRun RunEntries(const std::string& what, std::map<std::string, std::string> variables = {}, bool trace = true);

// The state that the report has of the entry with this stack pointer; null: none was kept.
const EntryState* StateAt(const Report& report, TargetAddress sp);

// How the report's state of an entry differs from what was traced there: a line a page, none when it is the same. Below
// the entry's stack pointer nothing counts.
std::vector<std::string> Compare(const Report& report, const TracedEntry& traced);

}  // namespace recrash

#endif  // RECRASH_AGENT_CLIENT_RECORD_TESTING_TRACE_H_
