// Where a marked value is by now: some are found only when a report is made, since their owner may move them.
//
//   const abi::MarkedValue place = PlaceOf(value, [](uint64_t address, void* out, uint64_t size) -> uint64_t {...});
//
// Signal-safe.
#ifndef RECRASH_AGENT_BASE_SIGNAL_SAFE_MARKED_PLACE_H_
#define RECRASH_AGENT_BASE_SIGNAL_SAFE_MARKED_PLACE_H_

#include <stdint.h>
#include <string.h>

#include "shadowstack/abi.h"

namespace recrash::signal_safe {

// `read` gives how much it could read. A value whose memory is gone has size 0.
template <typename Read>
RECRASH_SIGNAL_SAFE abi::MarkedValue PlaceOf(const abi::MarkedValue& value, Read read) {
  abi::MarkedValue place{value.address, value.size & abi::kMarkedSize};
  if (value.size & abi::kMarkedThroughPointer) {
    uint64_t address = 0;
    if (read(place.address, &address, sizeof address) != sizeof address || address == 0) return {0, 0};
    place.address = address;
  }
  if (value.size & abi::kMarkedString) {
    struct {
      uint64_t text, size;
    } string = {};
    if (read(place.address, &string, sizeof string) != sizeof string) return {0, 0};
    return {string.text, string.size};
  }
  if (value.size & abi::kMarkedText) {
    uint64_t length = 0;
    for (char piece[64]; length < place.size;) {
      const uint64_t got = read(place.address + length, piece, sizeof piece);
      if (got == 0 || got > sizeof piece) break;
      const void* end = memchr(piece, 0, got);
      if (end != nullptr) {
        length += static_cast<uint64_t>(static_cast<const char*>(end) - piece);
        break;
      }
      length += got;
    }
    if (length < place.size) place.size = length;
  }
  return place;
}

}  // namespace recrash::signal_safe

#endif  // RECRASH_AGENT_BASE_SIGNAL_SAFE_MARKED_PLACE_H_
