// Masks each occurrence of values that the program has marked (RECRASH_SENSITIVE) in bytes that are about to leave it:
// the client in a raw report, the collector in report and minidump.
//
//   masker.Add(value, size);   // each; storage is the caller's, SlotsFor(bytes of all values) words of zeros
//   masker.Mask(bytes, size);
//
// Looked for are all windows of eight bytes of a value, wherever they begin: so a part of a value that is left in a
// register or in a buffer is found too. A value's zeros at its end do not count beyond its first eight bytes; neither
// do windows with fewer than three bytes that are not zero, which are small numbers, nor one of ones alone, which is
// -1.
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_MASKING_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_MASKING_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shadowstack/abi.h"

namespace recrash::signal_safe {

constexpr char kMask = '*';
constexpr size_t kMaskedWindow = 8;

class Masker {
 public:
  // A power of two, at least twice as many as there are windows.
  RECRASH_SIGNAL_SAFE static size_t SlotsFor(size_t bytes) {
    size_t slots = 64;
    while (slots < 2 * bytes) slots *= 2;
    return slots;
  }

  RECRASH_SIGNAL_SAFE Masker(uint64_t* slots, size_t count) : slots_(slots), count_(count) {}

  RECRASH_SIGNAL_SAFE void Add(const uint8_t* value, size_t size) {
    while (size > kMaskedWindow && value[size - 1] == 0) --size;
    for (size_t at = 0; at + kMaskedWindow <= size; ++at) {
      uint64_t window;
      memcpy(&window, value + at, sizeof window);
      if (IsTelling(window)) *SlotOf(window) = window;
    }
  }

  // `bytes` may hold more than is kept of it: a window that begins before, or ends behind, is found only so.
  RECRASH_SIGNAL_SAFE void Mask(uint8_t* bytes, size_t size) const {
    if (size < kMaskedWindow) return;
    uint64_t window;
    memcpy(&window, bytes, sizeof window);
    size_t masked_to = 0;
    for (size_t at = 0;; ++at) {
      if (window != 0 && *SlotOf(window) == window) masked_to = at + kMaskedWindow;
      if (at + kMaskedWindow == size) {
        for (; at < masked_to; ++at) bytes[at] = kMask;
        return;
      }
      // The next window is read before this one's first byte changes.
      window = window >> 8 | static_cast<uint64_t>(bytes[at + kMaskedWindow]) << 56;
      if (at < masked_to) bytes[at] = kMask;
    }
  }

 private:
  RECRASH_SIGNAL_SAFE static bool IsTelling(uint64_t window) {
    int bytes = 0;
    for (uint64_t left = window; left != 0; left >>= 8) bytes += (left & 0xff) != 0 ? 1 : 0;
    return bytes >= 3 && window != UINT64_MAX;
  }

  // Where the window is, or an empty slot; there always is one.
  RECRASH_SIGNAL_SAFE uint64_t* SlotOf(uint64_t window) const {
    size_t slot = static_cast<size_t>(window * 0x9e3779b97f4a7c15ull >> 32) & (count_ - 1);
    while (slots_[slot] != 0 && slots_[slot] != window) slot = (slot + 1) & (count_ - 1);
    return &slots_[slot];
  }

  uint64_t* slots_;
  size_t count_;
};

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_MASKING_H_
