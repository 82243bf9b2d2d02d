// Entry states for kernels that track no writes: the memory of the crash, overwritten with copies of what a frame's
// arguments reached at its entry (agent/client/record/entry_copies.h).
#ifndef RECRASH_AGENT_REPORT_ENTRY_LOG_COPIED_STATES_H_
#define RECRASH_AGENT_REPORT_ENTRY_LOG_COPIED_STATES_H_

#include <map>
#include <span>
#include <vector>

#include "agent/base/result.h"
#include "agent/report/entry_log/crash_heap.h"
#include "agent/report/page_source.h"
#include "agent/report/report.h"
#include "shadowstack/log_format.h"

namespace recrash {

// Call Describe for each frame, youngest first.
class CopiedStates {
 public:
  CopiedStates(const PageSource& memory, const record::LogHeader& log, const Report& report);

  // Makes `state` one of copies, and fills `layer` with its difference to the state after it. `mappings` are those at
  // the entry. The error says how the log is damaged.
  Status Describe(const record::LogFrame& frame, const std::vector<Mapping>& mappings, EntryState* state,
                  EntryMemory::Layer* layer);
  bool knows_heap() const { return heap_.is_known(); }

 private:
  using OwnPages = std::map<uint64_t, std::vector<uint8_t>>;

  Result<std::vector<uint8_t>> Stream(const record::LogFrame& frame) const;
  Result<OwnPages> PagesOf(const record::LogFrame& frame, const std::vector<Mapping>& mappings) const;
  void Lay(uint64_t address, std::span<const uint8_t> bytes, OwnPages* state) const;
  bool IsOfLibc(uint64_t address) const;
  std::vector<uint8_t> AtCrash(uint64_t page) const;
  std::vector<Region> DifferenceTo(const OwnPages& state) const;

  const PageSource& memory_;
  const record::LogHeader& log_;
  const Report& report_;
  CrashHeap heap_;
  std::vector<record::LogVersion> versions_;
  OwnPages later_;     // of the younger frame, described before
  uint64_t kept_ = 0;  // bytes of all layers
};

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_ENTRY_LOG_COPIED_STATES_H_
