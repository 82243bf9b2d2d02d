// The order in which a frame's Starts are tried, shown without a replay.
#include "testgen/verify/starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace recrash {
namespace {

using ::testing::ElementsAre;

std::string Text(const Start& start) {
  std::string text = start.sealed ? "sealed" : "unsealed";
  if (start.depth) text += ", depth " + std::to_string(start.depth);
  if (start.from_entry) text += ", from entry";
  if (start.rewind) text += ", rewound";
  return text;
}

// Tries a frame whose replays end as `outcome` says, and keeps what was tried.
struct Search {
  Search(const Choices& choices, const std::function<Try(const Start&)>& outcome) {
    while (const std::optional<Start> start = NextStart(choices, tries)) {
      tries.push_back(outcome(*start));
      tries.back().start = *start;
      order.push_back(Text(*start));
    }
  }

  std::vector<Try> tries;
  std::vector<std::string> order;
};

constexpr Choices kEverything{.deepest = 2, .has_entry_state = true, .streams = 1 << 1};

std::function<Try(const Start&)> Always(Verdict verdict) {
  return [verdict](const Start&) { return Try{.verdict = verdict}; };
}

TEST(NextStart, TriesWhatTheFrameHasUntilItReproduces) {
  EXPECT_THAT(Search({}, Always(Verdict::kReturned)).order, ElementsAre("sealed"));
  EXPECT_THAT(Search(kEverything, Always(Verdict::kReproduced)).order, ElementsAre("sealed"));
  EXPECT_THAT(Search(kEverything, Always(Verdict::kCannotReplay)).order, ElementsAre("sealed"));
  EXPECT_THAT(Search(kEverything, Always(Verdict::kTimedOut)).order,
              ElementsAre("sealed", "sealed, depth 1", "sealed, depth 2", "sealed, from entry", "sealed, rewound"));
  const Search search(kEverything, [](const Start& start) {
    return Try{.verdict = start.from_entry ? Verdict::kReproduced : Verdict::kExited};
  });
  EXPECT_EQ(search.order.back(), "sealed, from entry");
  EXPECT_EQ(Text(Standing(search.tries).start), "sealed, from entry");
}

// The memory of the crash has the damage that the call had done: a fix cannot show there.
TEST(NextStart, PrefersAnExactEntryState) {
  constexpr Choices kExact{.deepest = 1, .has_entry_state = true, .is_exact = true};
  EXPECT_THAT(Search(kExact, Always(Verdict::kReproduced)).order, ElementsAre("sealed, from entry"));
  EXPECT_THAT(Search(kExact, Always(Verdict::kReturned)).order,
              ElementsAre("sealed, from entry", "sealed", "sealed, depth 1"));
  const Search cannot(kExact, [](const Start& start) {
    return Try{.verdict = start.from_entry ? Verdict::kCannotReplay : Verdict::kReproduced};
  });
  EXPECT_THAT(cannot.order, ElementsAre("sealed, from entry", "sealed"));
}

// What a frame missed may be why it does not reproduce: the same again with the files that are there now.
TEST(NextStart, TriesAllOfItUnsealedWhereSomethingWasMissed) {
  const Choices choices{.has_entry_state = true, .streams = 1 << 3};
  const Search misses_last(
      choices, [](const Start& start) { return Try{.verdict = Verdict::kReturned, .missed = start.rewind != 0}; });
  EXPECT_THAT(misses_last.order, ElementsAre("sealed", "sealed, from entry", "sealed, rewound", "unsealed",
                                             "unsealed, from entry", "unsealed, rewound"));
  EXPECT_EQ(Text(Standing(misses_last.tries).start), "unsealed, from entry");
  const Search reproduces(choices, [](const Start& start) {
    return Try{.verdict = start.sealed ? Verdict::kExited : Verdict::kReproduced, .missed = start.sealed};
  });
  EXPECT_THAT(reproduces.order, ElementsAre("sealed", "sealed, from entry", "sealed, rewound", "unsealed"));
}

// A program that finds its input missing may fail in the same way, and go on to do so after a fix.
TEST(NextStart, TriesAgainUnsealedWhatReproducedWithoutAFileThatTheDeadProcessHad) {
  const auto reproduces = [](bool with_the_file) {
    return Search({.deepest = 1}, [=](const Start& start) {
      const bool reproduced = start.depth == 1 && (start.sealed || with_the_file);
      return Try{.verdict = reproduced ? Verdict::kReproduced : Verdict::kReturned,
                 .missed = start.sealed,
                 .lacked = start.sealed};
    });
  };
  const Search with = reproduces(true), without = reproduces(false);
  EXPECT_THAT(with.order, ElementsAre("sealed", "sealed, depth 1", "unsealed, depth 1"));
  EXPECT_EQ(Text(Standing(with.tries).start), "unsealed, depth 1");
  EXPECT_EQ(without.order, with.order);
  EXPECT_EQ(Text(Standing(without.tries).start), "sealed, depth 1");
  // What the dead process may not have had is no reason.
  const Search misses({},
                      [](const Start& start) { return Try{.verdict = Verdict::kReproduced, .missed = start.sealed}; });
  EXPECT_THAT(misses.order, ElementsAre("sealed"));
}

TEST(NextStart, StaysWithTheEntryStateWhereThatIsAskedFor) {
  Choices choices = kEverything;
  choices.only_from_entry = true;
  const Search search(choices, [](const Start&) { return Try{.verdict = Verdict::kReturned, .missed = true}; });
  EXPECT_THAT(search.order, ElementsAre("sealed, from entry", "unsealed, from entry"));
}

// That a stream cannot be rewound, or that it was to no avail, is no news of the frame.
TEST(Standing, IsTheTryBeforeRewindingThatDidNotReproduce) {
  const std::vector<Try> returned = {{{}, Verdict::kReturned}, {{.rewind = 2}, Verdict::kCannotReplay}};
  EXPECT_EQ(Standing(returned).verdict, Verdict::kReturned);
  const std::vector<Try> reproduced = {{{}, Verdict::kReturned}, {{.rewind = 2}, Verdict::kReproduced}};
  EXPECT_EQ(Standing(reproduced).verdict, Verdict::kReproduced);
}

// What came out of a memory with damage is no news of a frame whose entry is known.
TEST(Standing, IsThatOfAnExactEntryStateWhereNothingReproduced) {
  const Try from_entry{{.from_entry = true, .sealed = true}, Verdict::kReturned},
      exited{{.sealed = true}, Verdict::kExited};
  const Try unsealed{{.from_entry = true}, Verdict::kDifferentFailure};
  const Try reproduced{{.sealed = true}, Verdict::kReproduced};
  EXPECT_EQ(Standing(std::vector{from_entry, exited}).verdict, Verdict::kReturned);
  EXPECT_EQ(Standing(std::vector{from_entry, exited, unsealed, exited}).verdict, Verdict::kDifferentFailure);
  EXPECT_EQ(Standing(std::vector{from_entry, reproduced}).verdict, Verdict::kReproduced);
  EXPECT_EQ(Standing(std::vector{exited, from_entry}).verdict, Verdict::kReturned);
  EXPECT_EQ(Standing(std::vector{Try{.start = {.from_entry = true}}, exited}).verdict, Verdict::kExited);
}

// Streams that cannot be rewound do not keep a frame from being tried unsealed.
TEST(NextStart, GoesOnAfterStreamsThatCannotBeRewound) {
  const Search search({.streams = 2}, [](const Start& start) {
    return start.rewind ? Try{} : Try{.verdict = Verdict::kReturned, .missed = true};
  });
  EXPECT_THAT(search.order, ElementsAre("sealed", "sealed, rewound", "unsealed", "unsealed, rewound"));
}

TEST(ChoicesOf, AreWhatTheReportHasOfTheFrame) {
  ReplayData replay;
  ReplayFrame& frame = replay.frames.emplace_back();
  frame.index = 4;
  EXPECT_EQ(ChoicesOf(replay, frame).deepest, 0u);
  EXPECT_FALSE(ChoicesOf(replay, frame).has_entry_state);
  frame.fields = {{{0x1000}, {1}, 2}, {{0x1008}, {1}, 1}};
  frame.streams = {{.parameter = 3}};
  replay.entry_states.emplace_back().frame = 4;
  EXPECT_EQ(ChoicesOf(replay, frame).deepest, 2u);
  EXPECT_TRUE(ChoicesOf(replay, frame).has_entry_state);
  EXPECT_TRUE(ChoicesOf(replay, frame).is_exact);
  replay.entry_states[0].others_ran = true;
  EXPECT_FALSE(ChoicesOf(replay, frame).is_exact);
  replay.entry_states[0].others_ran = false;
  replay.entry_states[0].copied_depth = 2;
  EXPECT_FALSE(ChoicesOf(replay, frame).is_exact);
  EXPECT_EQ(ChoicesOf(replay, frame).streams, uint64_t{1} << 3);
}

TEST(SlowFunctions, AreThoseOfWhichThreeFramesRanOutOfTime) {
  SlowFunctions slow;
  for (const Verdict verdict : {Verdict::kTimedOut, Verdict::kTimedOut, Verdict::kReturned}) slow.Note({8}, verdict);
  EXPECT_FALSE(slow.Has({8}));
  slow.Note({8}, Verdict::kTimedOut);
  EXPECT_TRUE(slow.Has({8}));
  EXPECT_FALSE(slow.Has({9}));
}

}  // namespace
}  // namespace recrash
