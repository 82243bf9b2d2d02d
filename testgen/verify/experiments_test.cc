// Real replays of a function, with something else in its memory and registers.
#include "testgen/verify/experiments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

// Fails as long as `cell` is null; a step of 0 never comes to an end.
constexpr const char* kProgram = R"(
volatile long steps;
struct Walk { long step; long* cell; long marks[2]; };
__attribute__((noinline)) void Store(Walk* walk, long end) {
  for (long at = 0; at < end; at += walk->step) steps = at;
  *walk->cell = 1;
}
int main() {
  static long cell;
  static int calls = 0;
  if (calls++) return 0;
  auto* walk = new Walk{1, nullptr, {0x1122334455667788, 5}};
  Store(walk, 10);
  return static_cast<int>(cell);
}
)";

class ExperimentsTest : public testing::Test {
 protected:
  ExperimentsTest() {
    std::erase_if(report_.replay.frames, [](const ReplayFrame& frame) { return !frame.function.starts_with("Store"); });
    options_.program = program_.fixture().path();
    options_.support_directory = RECRASH_TEST_SUPPORT_DIRECTORY;
    for (const ReplayWord& word : report_.replay.frames.at(0).words)
      if (word.location == abi::Location::kRdi) std::copy_n(word.bytes.begin(), 8, reinterpret_cast<uint8_t*>(&walk_));
    report_.replay.frames[0].start.sealed = true;
    auto begun = Experiments::Begin(report_, options_, 0, report_.replay.frames[0].start);
    EXPECT_TRUE(begun) << begun.error().message;
    if (begun) experiments_ = *std::move(begun);
  }

  Seen Run(const Experiment& experiment) {
    const Result<std::vector<Seen>> seen = experiments_->Run({&experiment, 1});
    EXPECT_TRUE(seen) << seen.error().message;
    return seen ? seen->front() : Seen{};
  }
  Experiment Fill(uint64_t address, uint64_t size, const plan::Fill& fill) const {
    return {{{address, size}}, fill, 1};
  }

  uint64_t step() const { return walk_; }
  uint64_t cell() const { return walk_ + 8; }

  ReplayedProgram program_{kProgram, "-O1 -g"};
  TestReport& report_ = program_.report();
  VerifyOptions options_;
  uint64_t walk_ = 0;
  std::unique_ptr<Experiments> experiments_;
};

TEST_F(ExperimentsTest, OfNoPieceIsTheReplay) {
  const Seen seen = Run({});
  EXPECT_EQ(seen.verdict, Verdict::kReproduced) << seen.note;
  EXPECT_EQ(seen.code, SEGV_MAPERR);
  EXPECT_EQ(seen.address.value, 0u);
  EXPECT_EQ(seen.pc, report_.replay.place.pc);
}

// The kernel gives no address of an access to an address that no processor has.
TEST_F(ExperimentsTest, TellsNoAddressFromNull) {
  const Seen seen = Run(Fill(cell(), 8, {.byte = 0xa5}));
  EXPECT_EQ(seen.address.value, 0u);
  EXPECT_EQ(seen.pc, report_.replay.place.pc);
  EXPECT_NE(seen.code, SEGV_MAPERR);
}

TEST_F(ExperimentsTest, FillsMemory) {
  EXPECT_EQ(Run(Fill(cell(), 8, {.kind = plan::Fill::kZeros})).verdict, Verdict::kReturned);
  EXPECT_EQ(Run(Fill(cell(), 8, {.kind = plan::Fill::kNumber, .seed = 8})).address.value, 8u);
  EXPECT_EQ(Run(Fill(cell(), 8, {.byte = 0})).verdict, Verdict::kReproduced);
}

TEST_F(ExperimentsTest, FillsRegisters) {
  const uint64_t rdi = plan::RegisterAddress(0);
  const Seen seen = Run(Fill(rdi, 8, {.kind = plan::Fill::kNumber, .seed = 0x40}));
  EXPECT_EQ(seen.verdict, Verdict::kDifferentFailure);
  EXPECT_EQ(seen.address.value, 0x40u);
}

TEST_F(ExperimentsTest, AnEndlessOneIsGivenUp) {
  Experiment endless = Fill(step(), 8, {.byte = 0});
  endless.limit = 0.05;
  const Seen seen = Run(endless);
  EXPECT_EQ(seen.verdict, Verdict::kTimedOut);
  EXPECT_LT(seen.seconds, 1.0);
}

// Each begins from the memory of the report, and outcomes come in the order of the experiments.
TEST_F(ExperimentsTest, DoNotTouchEachOther) {
  std::vector<Experiment> many;
  for (uint64_t i = 0; i < 100; ++i)
    many.push_back(i % 3 == 0 ? Experiment{} : Fill(cell(), 8, {.kind = plan::Fill::kNumber, .seed = i * 8}));
  const Result<std::vector<Seen>> seen = experiments_->Run(many);
  ASSERT_TRUE(seen) << seen.error().message;
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ((*seen)[i].address.value, i % 3 == 0 ? 0 : i * 8) << i;
  EXPECT_EQ(experiments_->count(), 100u);
}

TEST_F(ExperimentsTest, OfTooManyPiecesIsRefused) {
  Experiment large;
  large.pieces.resize(Experiments::kMostPieces + 1, {cell(), 8});
  EXPECT_FALSE(experiments_->Run({&large, 1}));
  EXPECT_EQ(Run({}).verdict, Verdict::kReproduced);
}

TEST_F(ExperimentsTest, NeedTheBuildThatCrashed) {
  options_.program = program_.Rebuild(std::string(kProgram) + "int more;", "-O1 -g");
  const auto begun = Experiments::Begin(report_, options_, 0, report_.replay.frames[0].start);
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error().message, testing::HasSubstr("needed the build that crashed"));
}

}  // namespace
}  // namespace recrash
