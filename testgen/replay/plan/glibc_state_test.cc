#include "testgen/replay/plan/glibc_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string.h>

namespace recrash {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kLibc = 0x7f0000000000;
constexpr uint64_t kArena = 0x400;  // in libc's data
constexpr uint64_t kThreadArena = 0x7e0000000030;

class LibcData {
 public:
  LibcData() : bytes_(0x2000) {}
  void Put(uint64_t offset, uint64_t word) { memcpy(bytes_.data() + offset, &word, sizeof word); }
  // Empty bins, as they are before they are used: each points 16 bytes before itself.
  void PutArena(uint64_t offset, int used_bins, uint64_t next) {
    for (uint64_t bin = 0; bin < 127; ++bin) {
      const uint64_t at = offset + 0x70 + bin * 16;
      Put(at, static_cast<int>(bin) < used_bins ? 0x555500001000 : kLibc + at - 16);
    }
    Put(offset + 0x870, next);
  }
  Report MakeReport() const {
    Report report;
    report.modules.push_back({"/lib/x86_64-linux-gnu/libc.so.6", "", {kLibc}, 0x2000, kLibc, false});
    report.memory.push_back({{kThreadArena & ~0xfffull}, std::vector<uint8_t>(0x1000)});
    const uint64_t first = kLibc + kArena;
    memcpy(report.memory[0].bytes.data() + 0x30 + 0x870, &first, sizeof first);
    report.memory.push_back({{kLibc}, bytes_});
    return report;
  }

 private:
  std::vector<uint8_t> bytes_;
};

TEST(GlibcState, FindsMainArenaAndThoseOfThreads) {
  LibcData data;
  data.PutArena(kArena, 60, kThreadArena);
  const GlibcState state = FindGlibcState(data.MakeReport());
  EXPECT_EQ(state.main_arena.value, kLibc + kArena);
  EXPECT_THAT(state.arena_mutexes, ElementsAre(TargetAddress{kLibc + kArena}, TargetAddress{kThreadArena}));
}

TEST(GlibcState, TakesNoOtherDataForAnArena) {
  LibcData data;
  for (uint64_t at = 0; at < 0x2000; at += 128) data.Put(at, kLibc + at - 16);
  EXPECT_THAT(FindGlibcState(data.MakeReport()).arena_mutexes, IsEmpty());
}

// A list that has been overwritten must not be followed for ever.
TEST(GlibcState, StopsInARingThatMissesTheFirst) {
  LibcData data;
  data.PutArena(kArena, 0, kThreadArena);
  Report report = data.MakeReport();
  const uint64_t itself = kThreadArena;
  memcpy(report.memory[0].bytes.data() + 0x30 + 0x870, &itself, sizeof itself);
  EXPECT_LE(FindGlibcState(report).arena_mutexes.size(), 5000u);
}

}  // namespace
}  // namespace recrash
