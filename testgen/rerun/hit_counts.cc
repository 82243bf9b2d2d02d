#include "testgen/rerun/hit_counts.h"

namespace recrash {

bool HitCounts::Count(uint64_t entry, uint64_t sp) {
  if (hot_.contains(entry)) return false;
  uint64_t& number = entries_[entry];
  if (++number > most_) {
    hot_.insert(entry);
    return false;
  }
  last_[{entry, sp}] = number;
  return true;
}

uint64_t HitCounts::Last(uint64_t entry, uint64_t sp) const {
  const auto found = last_.find({entry, sp});
  return hot_.contains(entry) || found == last_.end() ? 0 : found->second;
}

uint64_t HitCounts::Entries(uint64_t entry) const {
  const auto found = entries_.find(entry);
  return found == entries_.end() ? 0 : found->second;
}

bool ChooseGates(const HitCounts& counts, std::vector<FrameEntry>* frames) {
  std::map<uint64_t, size_t> outermost;
  for (size_t i = 0; i < frames->size(); ++i) outermost[(*frames)[i].entry] = i;
  bool any = false;
  for (FrameEntry& frame : *frames) {
    if (!counts.IsHot(frame.entry)) continue;
    for (size_t outer = outermost.at(frame.entry) + 1; outer < frames->size() && !frame.gate; ++outer) {
      if ((*frames)[outer].number && !(*frames)[outer].gate) frame.gate = outer;
    }
    any = any || frame.gate;
  }
  return any;
}

}  // namespace recrash
