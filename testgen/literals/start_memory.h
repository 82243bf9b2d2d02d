// The memory from which a frame's replay starts: that of the crash, or of its entry.
//
//   const StartMemory memory(report, frame);
//   if (memory.Read(address, bytes)) ...
#ifndef RECRASH_TESTGEN_LITERALS_START_MEMORY_H_
#define RECRASH_TESTGEN_LITERALS_START_MEMORY_H_

#include <cstdint>
#include <span>

#include "agent/report/pages.h"
#include "agent/report/report.h"

namespace recrash {

class StartMemory {
 public:
  // REQUIRES: both live as long as this.
  StartMemory(const TestReport& report, const ReplayFrame& frame);

  // False: one of the bytes is not known.
  bool Read(uint64_t address, std::span<uint8_t> out) const;

  uint64_t heap_end() const { return state_ ? state_->brk_end.value : report_.process.brk_end.value; }
  // Of the entry state; none where the replay starts from the memory of the crash.
  const Pages& pages() const { return pages_; }

 private:
  bool ReadImage(uint64_t address, std::span<uint8_t> out) const;

  const TestReport& report_;
  const ReplayFrame& frame_;
  const EntryState* state_ = nullptr;
  Pages pages_;
};

}  // namespace recrash

#endif  // RECRASH_TESTGEN_LITERALS_START_MEMORY_H_
