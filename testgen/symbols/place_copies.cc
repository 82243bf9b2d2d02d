#include "testgen/symbols/place_copies.h"

#include <algorithm>
#include <set>

namespace recrash {
namespace {

// Bounds what a hostile program can ask for.
constexpr size_t kMostRanges = 4096;

// Does the innermost function of the program's source at this code stand at the line where `failing` failed?
bool StandsAt(const CodeInfo& code, const Frame& failing) {
  const auto innermost = std::ranges::find_if(
      code.live, [](const LiveFunction& function) { return !IsSystemsFile(function.declared.file); });
  return innermost != code.live.end() && innermost->linkage_name == failing.linkage_name &&
         innermost->at.line == failing.line && innermost->at.file == failing.file;
}

// Adds the code of `copy` that stands there. The line table's rows cut it into pieces of one line.
void AddRanges(const CodeInfo& copy, const Frame& failing, CodeReader& code, std::vector<CodeRange>& ranges) {
  if (copy.debug == nullptr || !copy.range) return;
  const uint64_t end = copy.range->start + copy.range->size;
  std::vector<uint64_t> rows = copy.debug->RowsIn(copy.range->start, end);
  rows.push_back(end);
  for (size_t i = 0; i + 1 < rows.size() && ranges.size() < kMostRanges; ++i) {
    const TargetAddress start = {rows[i] + copy.module->bias()};
    if (StandsAt(code.At(start), failing)) ranges.push_back({start, {rows[i + 1] + copy.module->bias()}});
  }
}

}  // namespace

bool IsSystemsFile(const std::string& path) { return path.starts_with("/usr/"); }

const Frame* InnermostOfSource(const std::vector<Frame>& frames) {
  const auto found =
      std::ranges::find_if(frames, [](const Frame& frame) { return frame.own && !IsSystemsFile(frame.declared_file); });
  return found == frames.end() ? nullptr : &*found;
}

std::vector<CodeRange> FindPlaceInCopies(const std::vector<Frame>& frames, CodeReader& code) {
  std::vector<CodeRange> ranges;
  const Frame* failing = InnermostOfSource(frames);
  if (failing == nullptr || failing->line == 0) return ranges;
  std::set<TargetAddress> seen;
  for (const Frame& frame : frames)
    if (frame.inlined && frame.entry.value != 0 && seen.insert(frame.entry).second)
      AddRanges(code.At(frame.entry), *failing, code, ranges);
  return ranges;
}

}  // namespace recrash
