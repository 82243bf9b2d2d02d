// Copies of what arguments reached, in an invented log: the states made of them, and what becomes of a log that was
// written over.
#include "agent/report/entry_log/copied_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "agent/report/entry_log/testing_log.h"
#include "agent/report/pages.h"
#include "agent/report/recorded_states.h"

namespace recrash {
namespace {

using record::LogFrame;
using record::LogHeader;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kGone = 0x2000000;  // unmapped before the crash
constexpr uint64_t kSp = kStack + 2000;

class CrashedProgram : public LoggedProgram {
 public:
  CrashedProgram() : LoggedProgram(4, 2, 1) {
    header().copy_depth = 3;
    header().why_copies = record::Stop::kNoUserfaultfd;
    header().stop_error = EPERM;
    SetRanges({{kHeap, kHeap + 4 * kPageSize, 0}, {kGone, kGone + kPageSize, 0}, {kStack, kStack + kPageSize, 0}});
  }

  // What the limit of a report has left out, at kHeap + 2 pages, is 0xdd.
  size_t Read(TargetAddress address, std::span<uint8_t> out) const override {
    if (address.value < kHeap + 2 * kPageSize || address.value >= kHeap + 4 * kPageSize)
      return LoggedProgram::Read(address, out);
    std::ranges::fill(out, 0xdd);
    return out.size();
  }
};

// The byte in the state of a snapshot; -1 where that is the crash's.
int ByteAt(const Report& report, uint64_t number, uint64_t address) {
  const EntryState* state = nullptr;
  for (const EntryState& one : report.snapshots->states)
    if (one.number == number) state = FindRecorded(report, {one.registers.entry}, {one.registers.sp});
  if (state == nullptr) return -1;
  EXPECT_EQ(state->copied_depth, 3);
  const Pages pages = PagesOf(report, *state);
  const auto found = pages.find(address & ~(kPageSize - 1));
  return found == pages.end() ? -1 : found->second[address % kPageSize];
}

std::vector<uint8_t> Of(uint8_t byte, size_t size = 64) { return std::vector<uint8_t>(size, byte); }

TEST(CopiedStates, AreTheCrashWithCopiesOverIt) {
  CrashedProgram program;
  program.AddCopies(1, kSp + 64, {{kHeap + 64, Of(1)}, {kHeap + kPageSize - 32, Of(2)}});
  program.AddCopies(2, kSp, {{kHeap + 64, Of(3)}}).copies_cut = 1;
  const Report report = program.Collected();
  ASSERT_EQ(report.snapshots->states.size(), 2u);
  EXPECT_EQ(ByteAt(report, 1, kHeap + 63), 0xcc);
  EXPECT_EQ(ByteAt(report, 1, kHeap + 64), 1);
  EXPECT_EQ(ByteAt(report, 1, kHeap + 128), 0xcc);
  EXPECT_EQ(ByteAt(report, 1, kHeap + kPageSize + 31), 2) << "over two pages";
  EXPECT_EQ(ByteAt(report, 1, kHeap + kPageSize + 32), 0xcc);
  EXPECT_EQ(ByteAt(report, 2, kHeap + 64), 3);
  EXPECT_EQ(ByteAt(report, 2, kHeap + kPageSize), -1) << "what only the older one has";
  EXPECT_FALSE(report.snapshots->states[0].copies_cut);
  EXPECT_TRUE(report.snapshots->states[1].copies_cut);
}

// The inner frame's copies are not the outer one's.
TEST(CopiedStates, StandByThemselves) {
  CrashedProgram program;
  program.AddCopies(1, kSp + 64, {{kHeap, Of(1)}});
  program.AddCopies(2, kSp, {{kHeap + kPageSize, Of(2)}});
  const Report report = program.Collected();
  EXPECT_EQ(ByteAt(report, 1, kHeap + kPageSize), 0xcc);
  EXPECT_EQ(ByteAt(report, 2, kHeap), -1);
}

TEST(CopiedStates, AreMadeOfMemoryThatTheReportLeftOut) {
  CrashedProgram program;
  program.AddCopies(1, kSp, {{kHeap + 2 * kPageSize + 8, Of(1)}, {kGone + 8, Of(2)}});
  const Report report = program.Collected();
  EXPECT_EQ(ByteAt(report, 1, kHeap + 2 * kPageSize), 0xdd);
  EXPECT_EQ(ByteAt(report, 1, kHeap + 2 * kPageSize + 8), 1);
  EXPECT_EQ(ByteAt(report, 1, kGone), 0);
  EXPECT_EQ(ByteAt(report, 1, kGone + 8), 2);
  ASSERT_EQ(report.snapshots->states[0].mappings.size(), 1u) << "what is gone is there for the copy";
  EXPECT_EQ(report.snapshots->states[0].brk_end.value, kHeap + 4 * kPageSize);
}

TEST(CopiedStates, NeedNoMappingThatNothingWasCopiedFrom) {
  CrashedProgram program;
  program.AddCopies(1, kSp, {{kHeap, Of(1)}});
  EXPECT_THAT(program.Collected().snapshots->states.at(0).mappings, IsEmpty());
}

// One sentence, and nothing of such a log is believed.
void ExpectRefused(const CrashedProgram& program, const std::string& why) {
  const Report report = program.Collected();
  EXPECT_THAT(report.snapshots->states, IsEmpty());
  ASSERT_EQ(report.losses.size(), 2u) << "the other one says why there are copies";
  EXPECT_THAT(report.losses[1],
              testing::ContainsRegex("^no entry states: the log of copies is damaged: those of entry [12] " + why));
}

TEST(CopiedStates, AreRefusedWhenTheLogIsForged) {
  const auto forged = [](const auto& forge) {
    auto program = std::make_unique<CrashedProgram>();
    program->AddCopies(1, kSp + 64, {{kHeap, Of(1)}, {kHeap + 64, Of(1, 3 * kPageSize)}});
    program->AddCopies(2, kSp, {{kHeap, Of(2)}});
    LogFrame& frame = program->log().frames()[0];
    forge(*program, frame, reinterpret_cast<uint64_t*>(program->log().Content(frame.copies)));
    return program;
  };
  const auto expect = [&](const std::string& why, const auto& forge) { ExpectRefused(*forged(forge), why); };
  EXPECT_EQ(forged([](auto&, auto&, auto*) {})->Collected().snapshots->states.size(), 2u) << "as it was";
  expect("have 4294967288 bytes, at most 1048576", [](auto&, auto& frame, auto*) { frame.copy_bytes = ~7u; });
  expect("end after 16384 of 1000000", [](auto&, auto& frame, auto*) { frame.copy_bytes = 1000000; });
  expect("end after 0 of", [](auto&, auto& frame, auto*) { frame.copies = 0xffffffff; });
  expect("end after 4096 of", [](auto& program, auto& frame, auto*) {
    program.log().versions()[frame.copies].older = program.log().frames()[1].copies;  // another frame's
  });
  expect("have one of 0 bytes", [](auto&, auto&, auto* words) { words[1] = 0; });
  expect("have one of 18446744073709551615 bytes", [](auto&, auto&, auto* words) { words[1] = ~uint64_t{0}; });
  expect("have one of memory that was not there", [](auto&, auto&, auto* words) { words[0] = 0x5000; });
  expect("have one of memory that was not there",
         [](auto&, auto&, auto* words) { words[0] = kHeap + 4 * kPageSize - 8; });
  expect("end in the middle of a copy", [](auto&, auto& frame, auto*) { frame.copy_bytes = 16 + 64 + 8; });
  expect("cannot be read", [](auto& program, auto&, auto*) { program.header().contents = ~uint64_t{0} / 2; });
}

TEST(CopiedStates, SurviveADamagedLog) {
  std::mt19937_64 random(2);
  int with_entries = 0;
  const int rounds = 1000;
  for (int round = 0; round < rounds; ++round) {
    CrashedProgram program;
    for (uint64_t number = 1; number <= 4; ++number)
      program.AddCopies(number, kSp + 64 - number * 8, {{kHeap + number * 8, Of(1)}, {kHeap + 512, Of(2, kPageSize)}});
    const LogHeader header = program.header();
    DamageLog(random, {0, header.frames, header.versions, header.map_lists, header.contents + kPageSize}, 6,
              round % 2 == 0, &program.log_bytes());
    const Report report = program.Collected();
    if (!report.snapshots || report.snapshots->states.empty()) continue;
    ++with_entries;
    EXPECT_LE(report.snapshots->states.size(), 4u);
  }
  EXPECT_GT(with_entries, 0);
  EXPECT_LT(with_entries, rounds);
}

}  // namespace
}  // namespace recrash
