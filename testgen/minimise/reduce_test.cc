// Made-up predicates, of which the answer is known.
#include "testgen/minimise/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Suffices where all of `needed` are.
Suffice AllOf(Subset needed, size_t* asked = nullptr) {
  return [=](const std::vector<Subset>& sets) {
    std::vector<bool> answers;
    for (const Subset& set : sets) answers.push_back(std::ranges::includes(set, needed));
    if (asked) *asked += sets.size();
    return answers;
  };
}

TEST(Reduce, FindsWhatIsNeeded) {
  EXPECT_THAT(Reduce(9270, {}, AllOf({17, 4000, 4001, 9269})), ElementsAre(17, 4000, 4001, 9269));
}

TEST(Reduce, NothingMayBeNeeded) {
  size_t asked = 0;
  EXPECT_THAT(Reduce(9270, {}, AllOf({}, &asked)), IsEmpty());
  EXPECT_EQ(asked, 1u);
}

TEST(Reduce, AllMayBeNeeded) { EXPECT_THAT(Reduce(3, {}, AllOf({0, 1, 2})), ElementsAre(0, 1, 2)); }

TEST(Reduce, OfNoThings) { EXPECT_THAT(Reduce(0, {}, AllOf({})), IsEmpty()); }

TEST(Reduce, AsksFewQuestionsOfManyThings) {
  size_t asked = 0;
  Reduce(9270, {}, AllOf({17, 1000, 2000, 3000, 4001, 5000, 9269}, &asked));
  EXPECT_LT(asked, 250u);
}

// Any one of two suffices: the first, whatever the width.
TEST(Reduce, PrefersWhatComesFirst) {
  const Suffice either = [](const std::vector<Subset>& sets) {
    std::vector<bool> answers;
    for (const Subset& set : sets)
      answers.push_back(std::ranges::binary_search(set, 5u) || std::ranges::binary_search(set, 70u));
    return answers;
  };
  for (const size_t width : {1, 2, 3, 8}) EXPECT_THAT(Reduce(100, {.width = width}, either), ElementsAre(5));
}

// The predicate of a program is not monotonous: more memory may make it fail elsewhere.
TEST(Reduce, IsTheSameForEachWidthAndMinimal) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const uint32_t salt = random();
    const Subset needed = {salt % 90, 90 + salt % 7};
    const auto is_enough = [&](const Subset& set) {
      uint32_t hash = salt;
      for (const uint32_t i : set) hash = hash * 31 + i;
      return set.size() == 100 || (std::ranges::includes(set, needed) && hash % 5 != 0);
    };
    const Suffice suffice = [&](const std::vector<Subset>& sets) {
      std::vector<bool> answers;
      for (const Subset& set : sets) answers.push_back(is_enough(set));
      return answers;
    };
    const Subset one = Reduce(100, {}, suffice);
    for (const size_t width : {2, 4, 16}) EXPECT_EQ(Reduce(100, {.width = width}, suffice), one);
    EXPECT_TRUE(is_enough(one));
    for (size_t i = 0; i < one.size(); ++i) {
      Subset less = one;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(is_enough(less));
    }
  }
}

TEST(Reduce, WhatIsNotKnownCountsAsNeeded) {
  const Suffice silent = [](const std::vector<Subset>&) { return std::vector<bool>(); };
  EXPECT_THAT(Reduce(3, {}, silent), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace recrash
