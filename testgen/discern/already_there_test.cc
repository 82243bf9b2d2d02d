// Programs that recorded each entry themselves, so that each frame starts from its entry state.
#include "testgen/discern/already_there.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/report/recorded_states.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kHead[] = R"(
#include <cstdlib>
#define NOINLINE __attribute__((noinline))
struct Item { int* price; };
Item items[4];
volatile int sum;
)";

// Each function calls the recorder first, by a compiler option in place of patched entries.
class Recorded : public ReplayedProgram {
 public:
  explicit Recorded(const std::string& source)
      : ReplayedProgram(kHead + source,
                        "-O1 -g -fno-optimize-sibling-calls -Wl,-z,now -pg -mfentry " RECRASH_TEST_ENTRY_CALLS
                        " -Wl,-u,__recrash_client_anchor -Xlinker " RECRASH_TEST_RECORDING_CLIENT,
                        {}, "references", "snapshot_cpu=100,snapshot_pause=1000") {
    ReplayData& replay = report().replay;
    replay.entry_states = RecordedStates(report(), replay.frames);
    for (ReplayFrame& frame : replay.frames) frame.start = {.from_entry = true, .sealed = true};
    EXPECT_EQ(replay.entry_states.size(), replay.frames.size());
  }

  // "Outer: Inner" for each frame that began with what makes another one fail.
  std::vector<std::string> Found(const std::set<uint8_t>& pointers = {}) {
    VerifyOptions options;
    options.program = fixture().path();
    options.support_directory = RECRASH_TEST_SUPPORT_DIRECTORY;
    Pointers all;
    for (const ReplayFrame& frame : report().replay.frames) all[frame.index] = pointers;
    const Result<std::vector<AlreadyThere>> found = FindAlreadyThere(&report(), all, options);
    EXPECT_TRUE(found) << found.error().message;
    EXPECT_EQ(report().replay.frames.size(), all.size());  // it has its own frames again
    std::vector<std::string> text;
    for (const AlreadyThere& one : *found) text.push_back(NameOf(one.outer) + ": " + NameOf(one.inner));
    return text;
  }

 private:
  std::string NameOf(uint32_t index) const {
    const auto& frames = report().replay.frames;
    const std::string& name = std::ranges::find(frames, index, &ReplayFrame::index)->function;
    return name.substr(0, name.find('('));
  }
};

constexpr char kPriceOfGlobal[] = R"(
  NOINLINE int Price(int at) { return *items[at].price; }
)";

// Main makes it; the others find it.
TEST(AlreadyThere, IsWhatAnOuterFrameHasMade) {
  Recorded program(std::string(kPriceOfGlobal) + R"(
    NOINLINE int Sum(int at) { return Price(at) + sum; }
    int main(int argc, char**) { int one = 1; for (Item& item : items) item.price = &one; items[argc].price = nullptr; return Sum(argc); }
  )");
  EXPECT_THAT(program.Found(), ElementsAre("Sum: Price"));
}

TEST(AlreadyThere, IsNotWhatTheFrameMakesItself) {
  Recorded program(std::string(kPriceOfGlobal) + R"(
    NOINLINE int Sum(int at) { items[at].price = nullptr; return Price(at) + sum; }
    int main(int argc, char**) { int one = 1; for (Item& item : items) item.price = &one; return Sum(argc); }
  )");
  EXPECT_THAT(program.Found(), IsEmpty());
}

// All was there but the index: of the others one has a price.
TEST(AlreadyThere, IsNotWhatTheFrameHasChosen) {
  Recorded program(std::string(kPriceOfGlobal) + R"(
    NOINLINE int Sum(int at) { return Price(at / 5) + sum; }
    int main(int argc, char**) { static int one = 1; items[0].price = &one; return Sum(argc * 5); }
  )");
  EXPECT_THAT(program.Found(), IsEmpty());
}

// Whatever the number is.
TEST(AlreadyThere, IsThereWhereWhatWasChosenDoesNotMatter) {
  Recorded program(R"(
    NOINLINE int Price(int times) { return times * *items[1].price; }
    NOINLINE int Sum(int at) { return Price(at / 5) + sum; }
    int main(int argc, char**) { static int one = 1; items[0].price = &one; return Sum(argc * 15); }
  )");
  EXPECT_THAT(program.Found(), ElementsAre("Sum: Price"));
}

// No other value of a pointer can be tried: who made it null counts as its maker.
TEST(AlreadyThere, IsNotANullPointerThatTheFrameMakes) {
  Recorded program(R"(
    NOINLINE int Price(const Item* item) { return *item->price; }
    NOINLINE int Sum(int at) { return Price(at == 3 ? items : nullptr) + sum; }
    int main(int argc, char**) { return Sum(argc); }
  )");
  EXPECT_THAT(program.Found({1}), IsEmpty());
}

}  // namespace
}  // namespace recrash
