#include "agent/process/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "agent/base/signal_safe/left_out.h"
#include "agent/base/signal_safe/pages.h"
#include "agent/process/proc_files.h"

namespace recrash {
namespace {

using signal_safe::ScanRegion;

// Without PAGEMAP_SCAN: pagemap has 8 bytes a page, so this is 128 MiB of it, 0.1 s.
constexpr uint64_t kMostRead = uint64_t{1} << 36;

void Append(TargetAddress start, uint64_t pages, std::vector<PageRun>* runs) {
  if (!runs->empty() && runs->back().start + runs->back().pages * kPageSize == start)
    runs->back().pages += pages;
  else
    runs->push_back({start, pages});
}

bool ScanPages(int pagemap, const Mapping& mapping, std::vector<PageRun>* runs) {
  ScanRegion regions[512];
  for (uint64_t at = mapping.start.value; at < mapping.end.value;) {
    const uint64_t before = at;
    const long found = signal_safe::ScanPages(pagemap, at, mapping.end.value, regions, std::size(regions));
    if (found < 0 || at <= before) return false;
    for (long i = 0; i < found; ++i) Append({regions[i].start}, (regions[i].end - regions[i].start) / kPageSize, runs);
  }
  return true;
}

// Gives the runs of pages whose entries in the pagemap are as `wanted` says.
template <typename Wanted>
bool ReadPagemap(int pagemap, const Mapping& mapping, const Wanted& wanted, std::vector<PageRun>* runs) {
  const uint64_t pages = (mapping.end - mapping.start) / kPageSize;
  uint64_t entries[4096];
  for (uint64_t first = 0; first < pages;) {
    const uint64_t count = std::min<uint64_t>(std::size(entries), pages - first);
    const ssize_t got = pread(pagemap, entries, count * sizeof entries[0],
                              static_cast<off_t>((mapping.start.value / kPageSize + first) * sizeof entries[0]));
    if (got <= 0) return false;
    const uint64_t read = static_cast<uint64_t>(got) / sizeof entries[0];
    for (uint64_t i = 0; i < read; ++i) {
      if (wanted(entries[i])) Append(mapping.start + (first + i) * kPageSize, 1, runs);
    }
    first += read;
  }
  return true;
}

// Bits of an entry: Documentation/admin-guide/mm/pagemap.rst.
bool IsPresent(uint64_t entry) { return entry >> 62 != 0; }
bool IsCopied(uint64_t entry) { return IsPresent(entry) && (entry >> 61 & 1) == 0; }

}  // namespace

Result<TargetMemory> TargetMemory::Open(pid_t pid) {
  const std::string path = ProcPath(pid, "mem");
  Fd memory(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) return Error{Errc::kRefused, path + ": " + std::strerror(errno)};
  const std::string pagemap = Fails("pagemap") ? "" : ProcPath(pid, "pagemap");
  return TargetMemory(std::move(memory), Fd(open(pagemap.c_str(), O_RDONLY | O_CLOEXEC)), pid);
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

std::optional<std::vector<PageRun>> TargetMemory::Present(const Mapping& mapping) const {
  std::vector<PageRun> runs;
  if (ScanPages(pagemap_.get(), mapping, &runs)) return runs;
  runs.clear();
  if (mapping.end - mapping.start > kMostRead || !ReadPagemap(pagemap_.get(), mapping, IsPresent, &runs))
    return std::nullopt;
  return runs;
}

std::optional<std::vector<PageRun>> TargetMemory::Copied(const Mapping& mapping) const {
  std::vector<PageRun> runs;
  if (mapping.end - mapping.start > kMostRead || !ReadPagemap(pagemap_.get(), mapping, IsCopied, &runs))
    return std::nullopt;
  return runs;
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
