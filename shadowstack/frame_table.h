// Where functions begin and end, by the table that unwinders search: .eh_frame_hdr, which stripped programs have too.
//
// Pure. The client uses it on itself, the collector on the process that it reads. Signal-safe.
#ifndef RECRASH_SHADOWSTACK_FRAME_TABLE_H_
#define RECRASH_SHADOWSTACK_FRAME_TABLE_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace recrash::abi {

// A range of code. It ends where the next one begins, so it includes padding and the prefix of the next function.
struct CodeRange {
  uint64_t start = 0;
  uint64_t end = 0;  // 0: there is none
};

class FrameTable {
 public:
  // `bytes` lie at `address` in the process.
  FrameTable(const uint8_t* bytes, size_t size, uint64_t address) : bytes_(bytes), address_(address) {
    // The only form that linkers write: eh_frame_ptr pcrel|sdata4, count udata4, table datarel|sdata4.
    if (size < kHeader || memcmp(bytes, "\x01\x1b\x03\x3b", 4) != 0) return;
    uint32_t count = 0;
    memcpy(&count, bytes + 8, sizeof count);
    const size_t room = (size - kHeader) / kEntry;
    count_ = count < room ? count : room;
  }

  bool empty() const { return count_ == 0; }
  size_t count() const { return count_; }
  uint64_t Start(size_t index) const {
    int32_t offset = 0;
    memcpy(&offset, bytes_ + kHeader + index * kEntry, sizeof offset);
    return address_ + static_cast<uint64_t>(static_cast<int64_t>(offset));
  }

  // Where the call frame information of that range lies.
  uint64_t Description(size_t index) const {
    int32_t offset = 0;
    memcpy(&offset, bytes_ + kHeader + index * kEntry + kEntry / 2, sizeof offset);
    return address_ + static_cast<uint64_t>(static_cast<int64_t>(offset));
  }

  // The number of ranges that begin at or before `pc`.
  size_t CountUpTo(uint64_t pc) const {
    size_t low = 0, high = count_;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (Start(middle) <= pc)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  // The last range has no next one: its end is `limit`, where the segment ends.
  CodeRange Find(uint64_t pc, uint64_t limit) const {
    const size_t low = CountUpTo(pc);
    if (low == 0) return {};
    const CodeRange range = {Start(low - 1), low < count_ ? Start(low) : limit};
    return pc < range.end ? range : CodeRange{};
  }

 private:
  static constexpr size_t kHeader = 12;
  static constexpr size_t kEntry = 8;

  const uint8_t* bytes_;
  uint64_t address_;
  size_t count_ = 0;
};

}  // namespace recrash::abi

#endif  // RECRASH_SHADOWSTACK_FRAME_TABLE_H_
