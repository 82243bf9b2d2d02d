// What a test asks the replay library for (recrash/test.h), shown with an interface that only writes it down.
#include <gmock/gmock.h>

#include "recrash/test.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;

Start called;       // of the last call
std::string given;  // path and number of items

uint32_t WriteDown(uint32_t, const Start* start, const char*, char*, size_t) {
  called = *start;
  return static_cast<uint32_t>(Verdict::kReturned);
}

// A replay library with one frame, which reproduced sealed and from its entry.
ReplayInterface OneFrame() {
  ReplayInterface replay{};
  replay.version = kReplayVersion;
  replay.has_frame = [](uint32_t frame) { return frame == 0; };
  replay.call = WriteDown;
  replay.is_recorded = [](uint32_t, const char* path, uint64_t digest) {
    return std::string(path) == "*names" && digest == DigestOf({"news", "mail"});
  };
  replay.give = [](uint32_t, const char* path, const GivenValue* value) -> const char* {
    given = path + std::string(" ") + std::to_string(value->size);
    return value->size > 2 ? "too many" : nullptr;
  };
  replay.verified_start = [](uint32_t) { return Start{.from_entry = true, .sealed = true}; };
  return replay;
}

class TestedFrame : public ::testing::Test {
 protected:
  TestedFrame() { internal::replay = &replay_; }
  ~TestedFrame() override { internal::replay = nullptr; }

 private:
  ReplayInterface replay_ = OneFrame();
};

TEST_F(TestedFrame, StartsAsTheTestSays) {
  EXPECT_EQ(Frame(0).Sealed().Depth(2).Rewind(1).Rewind(63).Call().verdict, Verdict::kReturned);
  EXPECT_EQ(called.depth, 2);
  EXPECT_TRUE(called.sealed);
  EXPECT_FALSE(called.from_entry);
  EXPECT_EQ(called.rewind, uint64_t{1} << 63 | uint64_t{1} << 1);
  Frame(0).Unsealed().FromEntry().Call();
  EXPECT_FALSE(called.sealed);
  EXPECT_TRUE(called.from_entry);
}

// Tests of older versions say what is rewound and at which depth; entry and seal were left to the report.
TEST_F(TestedFrame, StartsAsTheReportSaysWhereTheTestIsOlder) {
  Frame(0).Depth(1).Rewind(3).Call();
  EXPECT_EQ(called.depth, 1);
  EXPECT_EQ(called.rewind, uint64_t{1} << 3);
  EXPECT_TRUE(called.sealed);
  EXPECT_TRUE(called.from_entry);
}

TEST_F(TestedFrame, CannotRewindAParameterThatAStartHasNoRoomFor) {
  const Outcome outcome = Frame(0).Rewind(64).Call();
  EXPECT_EQ(outcome.verdict, Verdict::kCannotReplay);
  EXPECT_EQ(outcome.text, "parameter 64 is no stream that can be rewound");
}

// Unedited values reach nothing: memory stays as it was, byte for byte.
TEST_F(TestedFrame, GivesValuesThatWereEdited) {
  given.clear();
  EXPECT_EQ(Frame(0).Set("*names", {"news", "mail"}).Call().verdict, Verdict::kReturned);
  EXPECT_EQ(given, "");
  EXPECT_EQ(Frame(0).Set("*names", {"news"}).Call().verdict, Verdict::kReturned);
  EXPECT_EQ(given, "*names 1");
  const Outcome refused = Frame(0).Set("*others", {"a", "b", "c"}).Call();
  EXPECT_EQ(refused.verdict, Verdict::kCannotReplay);
  EXPECT_EQ(refused.text, "cannot set *others: too many");
}

TEST(TestMain, RefusesAReplayLibraryOfAnotherVersion) {
  ReplayInterface other = OneFrame();
  other.version = kReplayVersion + 1;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(recrash_test_main(0, nullptr, &other), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("these tests need version " + std::to_string(kReplayVersion) +
                        " of recrash's replay library, found version " + std::to_string(other.version)));
}

}  // namespace
}  // namespace recrash
