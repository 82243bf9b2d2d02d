// A version log with four frames, and the heap and the stack beside it. The first byte of the input says whether the
// log has pages, or copies of what arguments reached. Each ten bytes behind it are a place and a word that the program
// has written there before it died.
//
// The log has nine megabytes. It is made once, and what an input has written is put back: 17 times as
// many inputs for the same processor time.
#include <cstring>
#include <memory>
#include <utility>

#include "agent/report/entry_log/testing_log.h"

namespace recrash {
namespace {

constexpr uint64_t kHeapPages = 16;

class OverwrittenLog : public LoggedProgram {
 public:
  explicit OverwrittenLog(bool copies) : LoggedProgram(kHeapPages, 4, 2), heap_(kHeapPages * kPageSize, 0xcc) {
    report().process.brk_start = {kHeap};
    AddChunks();
    copies ? AddCopies() : AddPages();
    const record::LogHeader& log = header();
    for (const uint64_t offset : {uint64_t{0}, log.frames, log.pages, log.versions, log.map_lists, log.file_lists,
                                  log.paths, log.functions, log.contents + kPageSize})
      parts_.push_back(std::span(log_bytes()).subspan(offset));
    parts_.push_back(heap_);
  }

  size_t Read(TargetAddress address, std::span<uint8_t> out) const override {
    const uint64_t at = address.value - kHeap;
    if (address.value < kHeap || at >= heap_.size()) return LoggedProgram::Read(address, out);
    const std::span<const uint8_t> bytes = std::span(heap_).subspan(at, std::min(out.size(), heap_.size() - at));
    std::ranges::copy(bytes, out.begin());
    return bytes.size();
  }

  // The place: which part, and which word in it.
  void Write(uint16_t place, uint64_t word) {
    const std::span<uint8_t> part = parts_[place % parts_.size()];
    const uint64_t at = place / parts_.size() * sizeof word;
    if (at + sizeof word > part.size()) return;
    uint64_t before;
    std::memcpy(&before, &part[at], sizeof word);
    written_.emplace_back(&part[at], before);
    std::memcpy(&part[at], &word, sizeof word);
  }

  void PutBack() {
    for (; !written_.empty(); written_.pop_back()) std::memcpy(written_.back().first, &written_.back().second, 8);
  }

 private:
  void AddPages() {
    for (uint64_t number = 1; number <= 4; ++number) {
      for (uint64_t page = 0; page < 4; ++page)
        log().Save(kHeap + page * kPageSize, number, std::vector<uint8_t>(kPageSize, number * 16 + page).data());
      AddFrame(number, kStack + 5064 - number * 8);
    }
  }

  void AddCopies() {
    header().copy_depth = 3;
    header().why_copies = record::Stop::kNoUserfaultfd;
    for (uint64_t number = 1; number <= 4; ++number) {
      const std::vector<uint8_t> few(64, 1), many(kPageSize, 2);
      LoggedProgram::AddCopies(number, kStack + 5064 - number * 8, {{kHeap + 0x2a0, few}, {kHeap + 0x400, many}});
    }
  }

  // As malloc has them: its cache with one free block, and blocks of 64 bytes, every other one in use.
  void AddChunks() {
    const auto set = [&](uint64_t at, uint64_t word) { std::memcpy(&heap_[at], &word, sizeof word); };
    std::memset(heap_.data(), 0, 0x290);
    set(8, 0x291);
    set(16 + 2, 1);
    set(16 + 128 + 8, kHeap + 0x2a0);
    uint64_t at = 0x290;
    for (; at + 64 < heap_.size(); at += 64) set(at + 8, 64 | (at / 64 % 2));
    set(at + 8, (heap_.size() - at) | 1);
  }

  std::vector<uint8_t> heap_;
  std::vector<std::span<uint8_t>> parts_;
  std::vector<std::pair<uint8_t*, uint64_t>> written_;
};

}  // namespace
}  // namespace recrash

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static recrash::OverwrittenLog programs[] = {recrash::OverwrittenLog(false), recrash::OverwrittenLog(true)};
  if (size == 0) return 0;
  recrash::OverwrittenLog& program = programs[*data++ % 2];
  --size;
  uint16_t place;
  uint64_t word;
  for (; size >= sizeof place + sizeof word; data += sizeof place + sizeof word, size -= sizeof place + sizeof word) {
    std::memcpy(&place, data, sizeof place);
    std::memcpy(&word, data + sizeof place, sizeof word);
    program.Write(place, word);
  }
  (void)program.Collected();
  program.PutBack();
  return 0;
}
