#include "agent/report/recorded_states.h"

#include <algorithm>

#include "agent/report/maps.h"
#include "agent/report/pages.h"

namespace recrash {
namespace {

constexpr uint64_t kPageSize = 4096;
// An entry state has all pages that differed at the entry, which for all frames of a deep stack is too much. Inner
// frames come first, and have the fewest.
constexpr uint64_t kMostBytes = 2ull << 30;

// Was the page mapped at the entry, and can a replay have it? Other pages belong to a younger snapshot.
bool IsMapped(const Report& report, const EntrySnapshot& snapshot, uint64_t page) {
  const auto has = [page](const Mapping& mapping) {
    return IsPrivateWritable(mapping) && page >= mapping.start.value && page < mapping.end.value;
  };
  return std::ranges::any_of(snapshot.mappings, has) || std::ranges::any_of(report.mappings, has);
}

EntryState StateOf(const Report& report, const EntrySnapshot& snapshot, uint32_t frame, Pages pages) {
  std::erase_if(pages, [&](const auto& page) { return !IsMapped(report, snapshot, page.first); });
  EntryState state;
  state.frame = frame;
  state.copied_depth = snapshot.copied_depth;
  state.brk_end = snapshot.brk_end;
  state.mappings = snapshot.mappings;
  state.files = snapshot.files;
  state.not_loaded = snapshot.not_loaded;
  state.memory = JoinPages(pages);
  return state;
}

}  // namespace

const EntrySnapshot* FindSnapshot(const Report& report, TargetAddress entry, TargetAddress sp) {
  if (!report.snapshots) return nullptr;
  const std::vector<EntrySnapshot>& entries = report.snapshots->entries;
  const auto is_it = [&](const EntrySnapshot& snapshot) { return snapshot.entry == entry && snapshot.sp == sp; };
  // The youngest: a thread that has ended may have left another one on the same stack.
  const auto found = std::find_if(entries.rbegin(), entries.rend(), is_it);
  return found == entries.rend() ? nullptr : &*found;
}

std::vector<EntryState> EntryStatesFromSnapshots(const Report& report, const std::vector<ReplayFrame>& frames) {
  std::vector<EntryState> states;
  if (!report.snapshots) return states;
  Pages pages;
  uint64_t bytes = 0;
  const std::vector<EntrySnapshot>& entries = report.snapshots->entries;
  for (auto snapshot = entries.rbegin(); snapshot != entries.rend(); ++snapshot) {
    LayPages(snapshot->memory, &pages);  // over the pages of the snapshots after it
    for (const ReplayFrame& frame : frames) {
      const bool is_its = frame.entry == snapshot->entry && frame.entry_sp == snapshot->sp;
      if (!is_its || FindSnapshot(report, frame.entry, frame.entry_sp) != &*snapshot) continue;
      bytes += pages.size() * kPageSize;
      if (bytes <= kMostBytes) states.push_back(StateOf(report, *snapshot, frame.index, pages));
    }
  }
  std::ranges::sort(states, {}, &EntryState::frame);
  return states;
}

}  // namespace recrash
