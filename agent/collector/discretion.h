// Masks the values that the program has marked (RECRASH_SENSITIVE) in all that is written about it.
//
// The collector does it, not the client: the program may go on after a report, so its own memory must stay as it is,
// and here all threads are stopped, so that no copy is made meanwhile. Nothing is on the disk before it is masked. A
// raw report, which the client writes, the client masks by the same code (agent/base/signal_safe/masking.h).
#ifndef RECRASH_AGENT_COLLECTOR_DISCRETION_H_
#define RECRASH_AGENT_COLLECTOR_DISCRETION_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agent/base/result.h"
#include "agent/process/target_memory.h"
#include "agent/report/report.h"
#include "shadowstack/abi.h"

namespace recrash {

class Discretion {
 public:
  // Reads what is marked in the process; `table` 0: nothing. An error if the table is damaged: what is not known cannot
  // be masked.
  Status Read(const PageSource& memory, TargetAddress table);

  // False if the program has marked more than can be masked.
  bool knows_all() const { return knows_all_; }

  // In memory, stacks, registers, entry states, inputs, arguments, texts, names of threads. Says in the report's losses
  // that it did. `memory` is of the process, still stopped: an occurrence may begin or end where the report has
  // nothing.
  void Apply(const PageSource& memory, Report* report) const;
  void Mask(std::span<uint8_t> bytes) const;
  // Of the process at `address`; marked places as well, whatever their size.
  void MaskMemory(const PageSource& memory, TargetAddress address, std::span<uint8_t> bytes) const;

 private:
  void Mask(std::string* text) const;
  void Mask(Registers* registers) const;
  void MaskAt(const PageSource& memory, TargetAddress address, std::span<uint8_t> bytes) const;
  void Mask(const PageSource& memory, std::vector<Region>* regions) const;
  void MaskFiles(std::vector<OpenFile>* files) const;
  void MaskSnapshots(const PageSource& memory, SnapshotLog* snapshots) const;

  bool knows_all_ = true;
  std::vector<abi::MarkedValue> values_;
  mutable std::vector<uint64_t> slots_;  // of a Masker
};

}  // namespace recrash

#endif  // RECRASH_AGENT_COLLECTOR_DISCRETION_H_
