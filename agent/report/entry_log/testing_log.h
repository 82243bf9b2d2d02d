// For tests: a program that has crashed with a log of snapshots, which lies in the memory of the test, and what may
// have been written over that log before.
#ifndef RECRASH_AGENT_REPORT_ENTRY_LOG_TESTING_LOG_H_
#define RECRASH_AGENT_REPORT_ENTRY_LOG_TESTING_LOG_H_

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "agent/client/record/version_log.h"
#include "agent/report/entry_log.h"
#include "agent/report/page_source.h"
#include "agent/report/report.h"
#include "shadowstack/log_format.h"

namespace recrash {

constexpr int32_t kPid = 42;
constexpr uint64_t kHeap = 0x1000000;
constexpr uint64_t kStack = 0x7ffe00000000;

// What an entry's arguments reached, as it was then.
struct EntryCopy {
  uint64_t address;
  std::vector<uint8_t> bytes;
};

class LoggedProgram : public PageSource {
 public:
  // Of the heap the report has `kept_pages`, all 0xcc; the stack is 0x11.
  LoggedProgram(uint64_t heap_pages, uint64_t kept_pages, uint64_t stack_pages)
      : log_bytes_(record::VersionLog::SizeFor(1 << 20, kFunctions)), stack_(stack_pages * kPageSize, 0x11) {
    log_.Begin(log_bytes_.data(), 1 << 20, kFunctions);
    header().pid = kPid;
    const TargetAddress heap_end{kHeap + heap_pages * kPageSize}, stack_end{kStack + stack_.size()};
    report_.mappings = {{{kHeap}, heap_end, kMapRead | kMapWrite, 0, "[heap]"},
                        {{kStack}, stack_end, kMapRead | kMapWrite, 0, "[stack]"}};
    report_.process.brk_end = heap_end;
    report_.threads = {{kPid, "", true, {}}};
    report_.threads[0].registers.dwarf[7] = kStack + 100;
    report_.memory = {{{kHeap}, std::vector<uint8_t>(kept_pages * kPageSize, 0xcc)}, {{kStack}, stack_}};
    SetRanges({{kHeap, heap_end.value, 0}, {kStack, stack_end.value, 0}});
  }

  size_t Read(TargetAddress address, std::span<uint8_t> out) const override {
    const auto copy = [&](uint64_t start, std::span<const uint8_t> bytes) -> size_t {
      if (address.value < start || address.value - start >= bytes.size()) return 0;
      bytes = bytes.subspan(address.value - start).first(std::min(out.size(), bytes.size() - (address.value - start)));
      std::ranges::copy(bytes, out.begin());
      return bytes.size();
    };
    if (const size_t size = copy(start(), log_bytes_)) return size;
    if (const size_t size = copy(kHeap, later_bytes_)) return size;
    return copy(kStack, stack_);
  }
  // The report gets the heap's pages only when it is written.
  void KeepHeapLater() {
    later_bytes_ = report_.memory[0].bytes;
    later_ = {{{kHeap}, later_bytes_.size() / kPageSize}};
    report_.memory.erase(report_.memory.begin());
  }
  std::optional<std::vector<PageRun>> Present(const Mapping&) const override { return std::nullopt; }

  // What was mapped at each entry.
  void SetRanges(const std::vector<record::LogRange>& ranges) {
    log_.map_lists()[0].count = static_cast<uint32_t>(ranges.size());
    std::ranges::copy(ranges, log_.map_lists()[0].ranges);
  }

  // A live frame of a function of its own.
  record::LogFrame& AddFrame(uint64_t number, uint64_t sp, record::LogFrame frame = {}) {
    frame.number = number;
    frame.registers.entry = 0x400000 + number;
    frame.registers.sp = sp;
    frame.return_address = 0x1111111111111111;
    frame.function = static_cast<uint32_t>(log_.FunctionAt(frame.registers.entry) - log_.functions());
    log_.Add(frame);
    return log_.frames()[header().frame_count - 1];
  }

  // A live frame with copies, as the client writes them.
  record::LogFrame& AddCopies(uint64_t number, uint64_t sp, const std::vector<EntryCopy>& copies) {
    std::vector<uint8_t> stream;
    for (const EntryCopy& copy : copies) {
      const uint64_t head[] = {copy.address, copy.bytes.size()};
      const auto* bytes = reinterpret_cast<const uint8_t*>(head);
      stream.insert(stream.end(), bytes, bytes + sizeof head);
      stream.insert(stream.end(), copy.bytes.begin(), copy.bytes.end());
    }
    record::LogFrame frame = {};
    frame.copy_bytes = static_cast<uint32_t>(stream.size());
    uint32_t last = 0;
    for (size_t at = 0; at < stream.size(); at += kPageSize) {
      const uint32_t page = log().TakePage(number);
      std::memcpy(log().Content(page), stream.data() + at, std::min<size_t>(kPageSize, stream.size() - at));
      (last ? log().versions()[last].older : frame.copies) = page;
      last = page;
    }
    return AddFrame(number, sp, frame);
  }

  uint64_t start() const { return reinterpret_cast<uint64_t>(log_bytes_.data()); }
  std::vector<uint8_t>& log_bytes() { return log_bytes_; }
  record::VersionLog& log() { return log_; }
  record::LogHeader& header() { return log_.header(); }
  Report& report() { return report_; }

  Report Collected() const {
    Report report = report_;
    if (const auto header = ReadLogHeader(*this, {start()}, kPid)) ReadSnapshots(*this, *header, later_, &report);
    return report;
  }

 private:
  static constexpr uint32_t kFunctions = 8;

  std::vector<uint8_t> log_bytes_;
  record::VersionLog log_ = {};
  std::vector<uint8_t> stack_;
  std::vector<uint8_t> later_bytes_;
  std::vector<PageRun> later_;
  Report report_;
};

// Writes `words` words, each near one of `places`. A header that is spared lets more of it through.
inline void DamageLog(std::mt19937_64& random, const std::vector<uint64_t>& places, int words, bool spare_header,
                      std::vector<uint8_t>* log) {
  for (int i = 0; i < words; ++i) {
    const uint64_t word = random() % 3 == 0 ? random() % 64 : random();
    const uint64_t place = places[random() % places.size()] + random() % 64 * 8;
    if (spare_header && place < sizeof(record::LogHeader)) continue;
    std::memcpy(log->data() + place, &word, sizeof word);
  }
}

}  // namespace recrash

#endif  // RECRASH_AGENT_REPORT_ENTRY_LOG_TESTING_LOG_H_
