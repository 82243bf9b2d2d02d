#include <algorithm>

#include "agent/report/entry_log.h"
#include "agent/report/maps.h"

namespace recrash {
namespace {

constexpr uint64_t kTableEntries = sizeof(record::LogPage) + sizeof(record::LogVersion) + sizeof(record::LogFunction);

// What a raw report holds. Pages that had no content are not in it.
class KeptPages final : public PageSource {
 public:
  KeptPages(const raw::RawEntryLog& log, const std::vector<Region>& log_pages, bool is_whole, const Report& report)
      : log_(log), log_pages_(log_pages), is_whole_(is_whole), report_(report) {}

  size_t Read(TargetAddress address, std::span<uint8_t> out) const override {
    const bool is_of_log = address.value - log_.start < log_.size;
    const std::vector<Region>& regions = is_of_log ? log_pages_ : report_.memory;
    size_t done = 0;
    while (done < out.size()) {
      const TargetAddress at{address.value + done};
      const auto next = std::ranges::upper_bound(regions, at, {}, &Region::address);
      const uint64_t held = next == regions.begin() ? 0 : CopyFrom(*std::prev(next), at, out.subspan(done));
      const uint64_t end = next == regions.end() ? UINT64_MAX : next->address.value;
      const uint64_t zeros = held != 0 ? 0 : std::min({ZerosFrom(at, is_of_log), end - at.value, out.size() - done});
      if (held + zeros == 0) break;
      std::ranges::fill(out.subspan(done, zeros), uint8_t{0});
      done += held + zeros;
    }
    return done;
  }
  std::optional<std::vector<PageRun>> Present(const Mapping&) const override { return std::nullopt; }

 private:
  static uint64_t CopyFrom(const Region& region, TargetAddress at, std::span<uint8_t> out) {
    const uint64_t offset = at - region.address;
    if (offset >= region.bytes.size()) return 0;
    const uint64_t size = std::min<uint64_t>(out.size(), region.bytes.size() - offset);
    std::copy_n(region.bytes.begin() + static_cast<ptrdiff_t>(offset), size, out.begin());
    return size;
  }

  // How far memory goes on that is zeros where the report has none.
  uint64_t ZerosFrom(TargetAddress at, bool is_of_log) const {
    if (is_of_log) return log_.size - (at.value - log_.start);
    const Mapping* mapping = FindMapping(report_.mappings, at);
    const bool is_of_file = mapping && mapping->path.starts_with('/');
    return is_whole_ && mapping && !is_of_file && IsPrivateWritable(*mapping) ? mapping->end - at : 0;
  }

  const raw::RawEntryLog& log_;
  const std::vector<Region>& log_pages_;
  bool is_whole_;
  const Report& report_;
};

std::vector<Region> TakeOut(TargetAddress start, TargetAddress end, Report* report) {
  std::vector<Region> taken;
  for (const Region& region : report->memory)
    if (region.address < end && start < region.address + region.bytes.size()) taken.push_back(region);
  taken = Outside(Outside(std::move(taken), {0}, start), end, {UINT64_MAX});
  report->memory = Outside(std::move(report->memory), start, end);
  return taken;
}

// The file may claim more than it has.
bool Fits(const record::LogHeader& log, uint64_t most_bytes) {
  const uint64_t entries = uint64_t{log.page_slots} + log.version_capacity + log.function_capacity;
  return log.version_capacity * kPageSize + entries * kTableEntries <= most_bytes;
}

}  // namespace

record::LogHeader HeaderOf(const raw::RawEntryLog& kept) {
  record::LogHeader log = {};
  log.start = kept.start;
  log.size = std::min(kept.size, UINT64_MAX - kept.start);
  std::ranges::copy(kept.descriptors, log.descriptors);
  return log;
}

void ReadKeptLog(const raw::RawEntryLog& kept, bool is_whole, uint64_t most_bytes, Report* report) {
  const record::LogHeader named = HeaderOf(kept);
  const std::vector<Region> pages = TakeOut({named.start}, {named.start + named.size}, report);
  if (kept.kept == 0) return;  // the program has said why
  raw::RawEntryLog place = kept;
  place.size = named.size;
  const KeptPages memory(place, pages, is_whole, *report);
  const std::optional<record::LogHeader> log = ReadLogHeader(memory, {named.start}, report->process.pid);
  if (!log) return report->losses.push_back(std::string(kNoLog));
  if (!Fits(*log, most_bytes)) return report->losses.push_back("no entry states: their log is larger than may be read");
  ReadSnapshots(memory, *log, {}, report);
  report->snapshots->figures.process_cpu_ns = kept.process_cpu_ns;
}

}  // namespace recrash
