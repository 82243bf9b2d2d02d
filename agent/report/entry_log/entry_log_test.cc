// A version log that lies in invented memory: what is read of it, and what becomes of one that was written over.
#include "agent/report/entry_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "agent/report/entry_log/testing_log.h"
#include "agent/report/pages.h"
#include "agent/report/recorded_states.h"
#include "agent/report/testing_memory_limit.h"

namespace recrash {
namespace {

using record::LogFrame;
using record::LogHeader;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kStackPages = 2;
constexpr uint64_t kSp = kStack + 5000;

class CrashedProgram : public LoggedProgram {
 public:
  CrashedProgram() : LoggedProgram(16, 4, kStackPages) {}

  void Save(uint64_t page, uint64_t number, uint8_t with) {
    log().Save(page, number, std::vector<uint8_t>(kPageSize, with).data());
  }
  LogFrame& Add(uint64_t number, uint64_t sp) { return AddFrame(number, sp); }

  // Memory of the test itself.
  void Keep(uint64_t address, const void* bytes) {
    kept_at_ = address;
    kept_ = bytes;
  }
  size_t Read(TargetAddress address, std::span<uint8_t> out) const override {
    if (kept_ == nullptr || address.value != kept_at_) return LoggedProgram::Read(address, out);
    std::memcpy(out.data(), kept_, out.size());
    return out.size();
  }

 private:
  uint64_t kept_at_ = 0;
  const void* kept_ = nullptr;
};

std::vector<uint64_t> Numbers(const Report& report) {
  std::vector<uint64_t> numbers;
  for (const EntryState& state : report.snapshots->states) numbers.push_back(state.number);
  return numbers;
}

// The first byte of a page of the heap in the entry state of a snapshot, -1 when the state is that of the crash.
int First(const Report& report, uint64_t number, uint64_t page) {
  const EntryState* state = nullptr;
  for (const EntryState& one : report.snapshots->states)
    if (one.number == number) state = FindRecorded(report, {one.registers.entry}, {one.registers.sp});
  const Pages pages = state ? PagesOf(report, *state) : Pages();
  const auto found = pages.find(kHeap + page * kPageSize);
  return found == pages.end() ? -1 : *found->second;
}

class Differences : public testing::TestWithParam<bool> {};

// With the memory of the crash at hand, and with the heap still to be read.
INSTANTIATE_TEST_SUITE_P(All, Differences, testing::Bool());

TEST_P(Differences, AreOfWhatWasThenAndLater) {
  CrashedProgram program;
  if (GetParam()) program.KeepHeapLater();
  for (uint64_t page = 0; page < kStackPages; ++page) program.Save(kStack + page * kPageSize, 1, 0x11);
  program.Save(kHeap, 1, 1);
  program.Save(kHeap + kPageSize, 1, 0xcc);
  program.Add(1, kSp + 64);
  program.Save(kHeap, 2, 2);
  program.Save(kHeap + 2 * kPageSize, 2, 7);
  program.Add(2, kSp);
  const Report report = program.Collected();
  ASSERT_THAT(Numbers(report), testing::ElementsAre(1, 2));
  EXPECT_EQ(First(report, 1, 0), 1);
  EXPECT_EQ(First(report, 2, 0), 2);
  EXPECT_EQ(First(report, 1, 1), -1) << "as at the crash";
  EXPECT_EQ(First(report, 1, 2), 0) << "not touched yet";
  EXPECT_EQ(First(report, 2, 2), 7);
  EXPECT_EQ(First(report, 1, 3), 0) << "touched after both";
  EXPECT_EQ(First(report, 2, 3), 0);
  EXPECT_EQ(report.snapshots->states[1].memory.own().size(), 2u) << "one page, and two side by side";
}

TEST(Snapshots, AreThoseOfLiveFrames) {
  CrashedProgram program;
  program.Add(1, kSp + 64).return_address ^= 1;  // something else is there now
  program.Add(2, kStack + 40);                   // below the thread's stack pointer
  program.Add(3, kSp);
  program.Add(4, 0x5000);  // on no stack
  EXPECT_THAT(Numbers(program.Collected()), testing::ElementsAre(3));
}

// A stub that only counts says that its function was entered again, and not where: the frame that now lies there may be
// another one, with the same return address.
TEST(Snapshots, AreNotThoseOfFunctionsThatWereEnteredUnseen) {
  CrashedProgram program;
  for (uint64_t number = 1; number <= 3; ++number) program.Add(number, kSp + 256 - 64 * number);
  int32_t left = 5;
  const auto counter = reinterpret_cast<uint64_t>(&left);
  record::LogFunction* functions = program.log().functions();
  for (uint32_t i = 0; i < 3; ++i) functions[i].skip = 5;
  program.Keep(counter, &left);
  functions[0].counter = counter;
  EXPECT_THAT(Numbers(program.Collected()), testing::ElementsAre(1, 2, 3)) << "none was entered since";
  left = 4;
  EXPECT_THAT(Numbers(program.Collected()), testing::ElementsAre(2, 3));
  functions[1].entries = 7;
  functions[1].reached = 6;
  EXPECT_THAT(Numbers(program.Collected()), testing::ElementsAre(3)) << "one of seven came to nobody";
  functions[2].entries = 7;
  functions[2].reached = 7;
  EXPECT_THAT(Numbers(program.Collected()), testing::ElementsAre(3));
}

TEST(Snapshots, KnowWhatIsNotMappedAnyMore) {
  CrashedProgram program;
  program.log().map_lists()[0].count = 3;
  program.log().map_lists()[0].ranges[2] = {kStack + 0x100000, kStack + 0x102000, 0};
  program.Save(kStack + 0x101000, 1, 5);
  program.Add(1, kSp);
  const Report report = program.Collected();
  ASSERT_THAT(Numbers(report), testing::ElementsAre(1));
  const EntryState& state = report.snapshots->states[0];
  ASSERT_EQ(state.mappings.size(), 1u);
  EXPECT_EQ(state.mappings[0].start.value, kStack + 0x100000);
  EXPECT_EQ(state.memory.own().back().address.value, kStack + 0x101000);
}

TEST(Snapshots, SayWhyThereAreNone) {
  CrashedProgram program;
  program.log().header().stop = record::Stop::kNoUserfaultfd;
  program.log().header().stop_error = EPERM;
  const Report report = program.Collected();
  EXPECT_THAT(report.losses, Contains(HasSubstr("refuses userfaultfd (Operation not permitted)")));
  EXPECT_THAT(report.snapshots->states, IsEmpty());
}

TEST(Snapshots, AreNotReadFromAnotherProcess) {
  CrashedProgram program;
  EXPECT_TRUE(ReadLogHeader(program, {program.start()}, kPid));
  EXPECT_FALSE(ReadLogHeader(program, {program.start()}, kPid + 1)) << "a child of fork";
  EXPECT_FALSE(ReadLogHeader(program, {0}, kPid));
  EXPECT_FALSE(ReadLogHeader(program, {program.start() + 8}, kPid));
}

// A size that was written over says that there is more than the process has.
TEST(Snapshots, TakeNoMemoryForWhatIsNotThere) {
  CrashedProgram program;
  program.log().header().size = uint64_t{1} << 40;
  program.log().header().page_slots = 1 << 24;
  program.log().header().version_capacity = 1 << 22;
  program.log().header().function_count = program.log().header().function_capacity = 1 << 22;
  const MemoryLimit limit(64 << 20);
  EXPECT_THAT(program.Collected().snapshots->states, IsEmpty());
}

// The program may have written over the log before it died: whatever is in it, the report is made, and soon.
TEST(Snapshots, SurviveADamagedLog) {
  std::mt19937_64 random(1);
  int with_entries = 0;
  const int rounds = 3000;
  for (int round = 0; round < rounds; ++round) {
    CrashedProgram program;
    for (uint64_t number = 1; number <= 4; ++number) {
      for (uint64_t page = 0; page < 4; ++page) program.Save(kHeap + page * kPageSize, number, number * 16 + page);
      program.Add(number, kSp + 64 - number * 8);
    }
    const LogHeader header = program.log().header();
    DamageLog(random, {0, header.frames, header.pages, header.versions, header.map_lists, header.file_lists}, 8,
              round % 2 == 0, &program.log_bytes());
    const Report report = program.Collected();
    if (!report.snapshots || report.snapshots->states.empty()) continue;
    ++with_entries;
    EXPECT_LE(report.snapshots->states.size(), 1024u);
  }
  EXPECT_GT(with_entries, 0);
  EXPECT_LT(with_entries, rounds);
}

}  // namespace
}  // namespace recrash
