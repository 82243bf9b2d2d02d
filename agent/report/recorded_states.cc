#include "agent/report/recorded_states.h"

#include <algorithm>
#include <set>

#include "agent/base/signal_safe/pages.h"

namespace recrash {
namespace {

using signal_safe::kPage;

// A replay is given all pages that differed at the entry, which for all frames of a deep stack is too much. Inner
// frames come first, and have the fewest.
constexpr uint64_t kMostBytes = 2ull << 30;

void AddPages(const EntryMemory::Layer& layer, std::set<uint64_t>* pages) {
  for (const Region& region : layer)
    for (uint64_t offset = 0; offset + kPage <= region.bytes.size(); offset += kPage)
      pages->insert(region.address.value + offset);
}

}  // namespace

const EntryState* FindState(std::span<const EntryState> states, TargetAddress entry, TargetAddress sp) {
  const auto is_it = [&](const EntryState& state) {
    return state.registers.entry == entry.value && state.registers.sp == sp.value;
  };
  // The youngest: a thread that has ended may have left another one on the same stack.
  const auto found = std::find_if(states.rbegin(), states.rend(), is_it);
  return found == states.rend() ? nullptr : &*found;
}

const EntryState* FindRecorded(const Report& report, TargetAddress entry, TargetAddress sp) {
  return report.snapshots ? FindState(report.snapshots->states, entry, sp) : nullptr;
}

std::vector<EntryState> RecordedStates(const Report& report, const std::vector<ReplayFrame>& frames) {
  std::vector<EntryState> states;
  if (!report.snapshots) return states;
  std::set<uint64_t> pages;
  uint64_t bytes = 0;
  const std::vector<EntryState>& recorded = report.snapshots->states;
  for (auto state = recorded.rbegin(); state != recorded.rend(); ++state) {
    AddPages(state->memory.own(), &pages);
    for (const ReplayFrame& frame : frames) {
      const bool is_its = frame.inlined_at.value == 0 && frame.entry.value == state->registers.entry &&
                          frame.entry_sp.value == state->registers.sp;
      if (!is_its || FindRecorded(report, frame.entry, frame.entry_sp) != &*state) continue;
      bytes += pages.size() * kPage;
      if (bytes <= kMostBytes) states.emplace_back(*state).frame = frame.index;
    }
  }
  std::ranges::sort(states, {}, &EntryState::frame);
  return states;
}

}  // namespace recrash
