#include "testgen/carry/type_pairs.h"

#include <gtest/gtest.h>

#include "testgen/carry/testing_types.h"

namespace recrash {
namespace {

class Pairs : public ::testing::Test {
 protected:
  std::string Difference(uint32_t old, uint32_t built) {
    return TypePairs(before.all(), now.all()).Difference({old, built});
  }
  std::string ChangeBehind(uint32_t old, uint32_t built) {
    return TypePairs(before.all(), now.all()).ChangeBehind({old, built});
  }

  TestingTypes before, now;
};

TEST_F(Pairs, OfEqualClassesHaveNoDifference) {
  const uint32_t old = before.Class("Order", 16, {{"id", 0, before.Int()}, {"total", 8, before.Long()}});
  const uint32_t built = now.Class("Order", 16, {{"id", 0, now.Int()}, {"total", 8, now.Long()}});
  EXPECT_EQ(Difference(old, built), "");
}

TEST_F(Pairs, SayWhichMembersDiffer) {
  const uint32_t old =
      before.Class("Order", 24, {{"id", 0, before.Int()}, {"total", 16, before.Long()}, {"tax", 8, before.Int()}});
  const uint32_t built =
      now.Class("Order", 40, {{"id", 0, now.Long()}, {"total", 24, now.Long()}, {"currency", 32, now.Int()}});
  EXPECT_EQ(Difference(old, built),
            "class Order has another layout in this build: member `id` was int, is long, member `total` moved from 16 "
            "to 24, member `tax` was removed, and more");
}

// A class that only holds the changed one says which that is.
TEST_F(Pairs, NameTheInnermostClass) {
  const uint32_t old = before.Class("Order", 8, {{"id", 0, before.Int()}});
  const uint32_t built = now.Class("Order", 8, {{"id", 4, now.Int()}});
  EXPECT_EQ(Difference(before.Class("Shop", 8, {{"order", 0, old}}), now.Class("Shop", 8, {{"order", 0, built}})),
            "class Order has another layout in this build: member `id` moved from 0 to 4");
}

TEST_F(Pairs, CompareEnumeratorsByName) {
  EXPECT_EQ(Difference(before.Enum("Colour", {"kRed"}), now.Enum("Colour", {"kRed", "kBlue"})), "");
  EXPECT_EQ(Difference(before.Enum("Colour", {"kRed"}), now.Enum("Colour", {"kBlue", "kRed"})),
            "enum Colour has other values in this build: `kRed` was 0, is 1");
}

TEST_F(Pairs, LeadToChangesBehindPointersAndArguments) {
  const uint32_t old = before.Class("Order", 8, {{"id", 0, before.Int()}});
  const uint32_t built = now.Class("Order", 8, {{"id", 4, now.Int()}});
  const uint32_t old_list = before.Class("std::list<Order>", 24, {});
  const uint32_t built_list = now.Class("std::list<Order>", 24, {});
  before[old_list].arguments = {old};
  now[built_list].arguments = {built};
  EXPECT_EQ(Difference(old_list, built_list), "");
  EXPECT_NE(ChangeBehind(old_list, built_list), "");
  EXPECT_NE(ChangeBehind(before.PointerTo(old_list), now.PointerTo(built_list)), "");
}

// What a pointer to a base points to may be any class derived from it.
TEST_F(Pairs, LeadToChangesOfDerivedClasses) {
  const uint32_t shape = before.Class("Shape", 8, {});
  const uint32_t circle = before.Class("Circle", 16, {{"radius", 8, before.Int()}});
  const uint32_t square = before.Class("Square", 16, {{"side", 8, before.Int()}});
  before[shape].derived = {circle, square};
  const uint32_t shape_now = now.Class("Shape", 8, {});
  const uint32_t square_now = now.Class("Square", 16, {{"side", 8, now.Long()}});
  const uint32_t circle_now = now.Class("Circle", 16, {{"radius", 8, now.Int()}});
  now[shape_now].derived = {square_now, circle_now};
  EXPECT_EQ(ChangeBehind(shape, shape_now),
            "class Square has another layout in this build: member `side` was int, is long");
}

TEST_F(Pairs, TellAnotherLibrary) {
  const uint32_t old = before.Class("std::string", 32, {{"_M_p", 0, before.Long()}});
  const uint32_t built = now.Class("std::string", 24, {{"__rep_", 0, now.Long()}});
  EXPECT_EQ(Difference(old, built),
            "std::string has another layout in this build: it is of another C++ library, or with other options of it");
}

// g++ tells of the allocator that std::string's pointer derives from, clang does not.
TEST_F(Pairs, LeaveEmptyBasesOut) {
  const uint32_t old = before.Class("Box", 8, {{"count", 0, before.Long()}});
  const uint32_t built = now.Class("Box", 8, {{"count", 0, now.Long()}});
  const auto add_base = [&](uint32_t base) {
    TypeMember member;
    member.role = MemberRole::kBase;
    member.name = "Base";
    member.type = base;
    now[built].members.push_back(member);
  };
  add_base(now.Class("Base", 1, {}));
  EXPECT_EQ(Difference(old, built), "");
  now[built].members.pop_back();
  add_base(now.Class("Filled", 8, {{"filled", 0, now.Long()}}));
  const uint32_t other = before.Class("Box", 8, {{"count", 0, before.Long()}});  // not compared yet
  EXPECT_EQ(Difference(other, built), "class Box has another layout in this build: base `Base` was added");
}

// A hostile report's types may hold themselves.
TEST_F(Pairs, EndForTypesThatHoldThemselves) {
  const uint32_t old = before.Class("Order", 8, {{"self", 0, 1}});
  const uint32_t built = now.Class("Order", 8, {{"self", 0, 1}});
  EXPECT_EQ(ChangeBehind(old, built), "");
}

}  // namespace
}  // namespace recrash
