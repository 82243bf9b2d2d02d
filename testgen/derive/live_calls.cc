#include "testgen/derive/live_calls.h"

namespace recrash {

void LiveCalls::Enter(uint64_t entry, uint64_t sp) {
  while (!live_.empty() && live_.back().sp <= sp) live_.pop_back();
  live_.push_back({entry, sp, ++entries_[entry]});
}

LiveCall LiveCalls::FromOutside(uint64_t entry, std::size_t nth) const {
  for (const LiveCall& call : live_)
    if (call.entry == entry && --nth == 0) return call;
  return {};
}

}  // namespace recrash
