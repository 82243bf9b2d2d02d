#include "agent/collector/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include <cstring>

#include "agent/collector/proc_files.h"

namespace recrash {

Result<TargetMemory> TargetMemory::Open(pid_t pid) {
  const std::string path = ProcPath(pid, "mem");
  Fd memory(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) return Error{Errc::kRefused, path + ": " + std::strerror(errno)};
  return TargetMemory(std::move(memory), Fd(open(ProcPath(pid, "pagemap").c_str(), O_RDONLY | O_CLOEXEC)), pid);
}

size_t TargetMemory::Read(TargetAddress address, std::span<uint8_t> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        pread(memory_.get(), out.data() + done, out.size() - done, static_cast<off_t>(address.value + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

std::vector<bool> TargetMemory::Present(const Mapping& mapping) const {
  const uint64_t pages = (mapping.end - mapping.start) / kPageSize;
  if (mapping.path.starts_with('/') || !pagemap_) return std::vector<bool>(pages, true);
  std::vector<bool> present(pages, false);
  uint64_t entries[4096];
  for (uint64_t first = 0; first < pages;) {
    const uint64_t count = std::min<uint64_t>(std::size(entries), pages - first);
    const ssize_t got = pread(pagemap_.get(), entries, count * sizeof entries[0],
                              static_cast<off_t>((mapping.start.value / kPageSize + first) * sizeof entries[0]));
    if (got <= 0) break;
    const uint64_t read = static_cast<uint64_t>(got) / sizeof entries[0];
    for (uint64_t i = 0; i < read; ++i) present[first + i] = entries[i] >> 62 != 0;  // present, or swapped out
    first += read;
  }
  return present;
}

std::string TargetMemory::ReadText(TargetAddress address, size_t limit) const {
  std::string text(limit, '\0');
  text.resize(Read(address, {reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  return text.substr(0, text.find('\0'));
}

bool TargetMemory::Write(TargetAddress address, std::span<const uint8_t> bytes) const {
  const iovec from = {const_cast<uint8_t*>(bytes.data()), bytes.size()};
  const iovec to = {reinterpret_cast<void*>(address.value), bytes.size()};
  return process_vm_writev(pid_, &from, 1, &to, 1, 0) == static_cast<ssize_t>(bytes.size());
}

}  // namespace recrash
