#include "testgen/replay/plan/glibc_state.h"

#include <string.h>

#include "agent/base/text.h"

namespace recrash {
namespace {

// struct malloc_state of glibc 2.27 to 2.41 on x86-64.
constexpr uint64_t kArenaSize = 0x898;
constexpr uint64_t kBins = 0x70;
constexpr uint64_t kNext = 0x870;
constexpr int kBinCount = 127;
// Bin i's header is faked so that its fd and bk fall on bins[2i], bins[2i+1]: an empty bin points 16 bytes before
// itself. A heap that is in use leaves most bins empty; unrelated data has none such.
constexpr int kEnoughBins = 30;
constexpr int kMostArenas = 4096;

uint64_t WordAt(const uint8_t* bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

int SelfPointingBins(const uint8_t* arena, uint64_t address) {
  int count = 0;
  for (int i = 0; i < kBinCount; ++i) {
    const uint64_t bin = kBins + static_cast<uint64_t>(i) * 16;
    if (WordAt(arena + bin) == address + bin - 16) ++count;
  }
  return count;
}

bool IsLibc(const Module& module) {
  const std::string name = BaseName(module.path);
  return name.starts_with("libc.so") || name.starts_with("libc-2.");
}

// The address with the most self-pointing bins: the first with some is wrong, the scan passes through partial overlaps.
TargetAddress FindMainArena(const Report& report, const Module& libc) {
  TargetAddress best;
  int most = kEnoughBins;
  for (const Region& region : report.memory) {
    if (region.address < libc.base || region.address.value >= libc.base.value + libc.size) continue;
    for (uint64_t at = 0; at + kArenaSize <= region.bytes.size(); at += 8) {
      // Cheap test of one bin that is nearly always empty before all are counted.
      const uint64_t address = region.address.value + at;
      const int count = SelfPointingBins(region.bytes.data() + at, address);
      if (count > most) {
        most = count;
        best = {address};
      }
    }
  }
  return best;
}

}  // namespace

GlibcState FindGlibcState(const Report& report) {
  GlibcState state;
  for (const Module& module : report.modules) {
    if (IsLibc(module)) state.main_arena = FindMainArena(report, module);
  }
  if (state.main_arena.value == 0) return state;
  TargetAddress arena = state.main_arena;
  for (int i = 0; i < kMostArenas; ++i) {
    state.arena_mutexes.push_back(arena);
    const std::optional<uint64_t> next = report.ReadWord(arena + kNext);
    if (!next || *next == 0 || *next == state.main_arena.value) break;
    arena = {*next};
  }
  return state;
}

}  // namespace recrash
