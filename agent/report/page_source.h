// Memory that somebody else has: of a process that is looked at from outside, or of a report.
#ifndef RECRASH_AGENT_REPORT_PAGE_SOURCE_H_
#define RECRASH_AGENT_REPORT_PAGE_SOURCE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "agent/report/report.h"

namespace recrash {

constexpr uint64_t kPageSize = 4096;

// Pages of a mapping, one after the other.
struct PageRun {
  TargetAddress start;
  uint64_t pages = 0;
};

// A test gives invented ones.
class PageSource {
 public:
  virtual ~PageSource() = default;
  // Bytes from `address` on that could be read into `out`; fewer where an unreadable page begins.
  virtual size_t Read(TargetAddress address, std::span<uint8_t> out) const = 0;
  // Pages that have content of their own, ascending; none when nobody can tell within reasonable time.
  virtual std::optional<std::vector<PageRun>> Present(const Mapping& mapping) const = 0;

  template <typename T>
  bool ReadObject(TargetAddress address, T* out) const {
    return Read(address, {reinterpret_cast<uint8_t*>(out), sizeof *out}) == sizeof *out;
  }
};

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_PAGE_SOURCE_H_
