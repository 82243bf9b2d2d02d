// The memory of the dying process, read from outside.
#ifndef RECRASH_AGENT_PROCESS_TARGET_MEMORY_H_
#define RECRASH_AGENT_PROCESS_TARGET_MEMORY_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/base/fd.h"
#include "agent/base/result.h"
#include "agent/report/page_source.h"

namespace recrash {

class TargetMemory final : public PageSource {
 public:
  static Result<TargetMemory> Open(pid_t pid);

  size_t Read(TargetAddress address, std::span<uint8_t> out) const override;
  std::optional<std::vector<PageRun>> Present(const Mapping& mapping) const override;
  // Pages of a private mapping of a file that the process has written to, ascending; none when nobody can tell.
  std::optional<std::vector<PageRun>> Copied(const Mapping& mapping) const;
  // Up to a NUL or the limit.
  std::string ReadText(TargetAddress address, size_t limit) const;
  bool Write(TargetAddress address, std::span<const uint8_t> bytes) const;

 private:
  TargetMemory(Fd memory, Fd pagemap, pid_t pid)
      : memory_(std::move(memory)), pagemap_(std::move(pagemap)), pid_(pid) {}

  Fd memory_;
  Fd pagemap_;
  pid_t pid_;
};

}  // namespace recrash

#endif  // RECRASH_AGENT_PROCESS_TARGET_MEMORY_H_
