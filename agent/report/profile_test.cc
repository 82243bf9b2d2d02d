#include "agent/report/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "agent/report/testing_reports.h"

namespace recrash {
namespace {

using testing::HasSubstr;

constexpr char kText[] =
    "# recrash profile 1\n"
    "# build-id offset linkage-name entries microseconds snapshots inclusive-ns\n"
    "3f2a 0x4a10 _ZN4Tree6InsertEi 1204 31250 17 48211\n"
    "3f2a 0x4b00 - - - - -\n"
    "- - main 1 - - -\n";

std::vector<std::string> Lines(const Profile& profile) {
  std::vector<std::string> lines;
  std::string text = ProfileText(profile);
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (text[at] != '#') lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

TEST(Profile, IsWrittenAsItWasRead) {
  const Profile profile = ParseProfile(kText);
  ASSERT_EQ(profile.functions.size(), 3u);
  EXPECT_EQ(profile.damaged, 0u);
  EXPECT_EQ(profile.functions[0].offset, 0x4a10u);
  EXPECT_EQ(profile.functions[0].microseconds, 31250u);
  EXPECT_EQ(profile.functions[0].snapshots, 17u);
  EXPECT_EQ(profile.functions[0].inclusive_ns, 48211u);
  EXPECT_FALSE(profile.functions[1].entries);
  EXPECT_EQ(profile.functions[2].build_id, "");
  EXPECT_EQ(ProfileText(profile), kText);
}

TEST(Profile, ReadsWhatEditorsLeave) {
  const Profile profile = ParseProfile("\n  # a comment\r\n\t3f2a   0x10\tf 1 2 \r\n\n3f2a 0x20 g 3 4");
  EXPECT_THAT(Lines(profile), testing::ElementsAre("3f2a 0x10 f 1 2 - -", "3f2a 0x20 g 3 4 - -"));
}

// Each of these says nothing that could be trusted, and is counted.
TEST(Profile, CountsDamagedLines) {
  for (const char* line :
       {"3f2a", "3f2a 0x10", "3f2a 10 f - -", "3f2a 0x f - -", "3f2 0x10 f - -", "3F2A 0x10 f - -", "xyz 0x10 f - -",
        "3f2a 0x10000000000000000 f - -", "3f2a 0x10 f -1 -", "3f2a 0x10 f 1 2 3 4 5", "- - - 1 2", "- 0x10 - 1 2",
        "3f2a 0x10 f 18446744073709551616 -", "3f2a 0x10 a\x01z - -"}) {
    const Profile profile = ParseProfile(line);
    EXPECT_EQ(profile.damaged, 1u) << line;
    EXPECT_TRUE(profile.functions.empty()) << line;
  }
  EXPECT_EQ(ParseProfile(std::string(100000, 'a') + " 0x1 f - -").damaged, 1u);
}

TEST(Profile, MergesByEntryInABuildAndByNameElse) {
  Profile one = ParseProfile("aa 0x1 f 5 -\nbb 0x1 f - -\n- - g - -\n");
  MergeProfile(ParseProfile("aa 0x1 - 7 9 2 30\naa 0x2 f - -\n- - g 1 1\n- - h - -\nbb 0x1 other - -\n"), &one);
  EXPECT_THAT(Lines(one), testing::ElementsAre("aa 0x1 f 7 9 2 30", "bb 0x1 f - - - -", "- - g 1 1 - -",
                                               "aa 0x2 f - - - -", "- - h - - - -"));
  const std::vector<std::string> before = Lines(one);
  MergeProfile(Profile(one), &one);
  EXPECT_EQ(Lines(one), before);
}

// Counters of one run belong together: from the run with more entries all of them.
TEST(Profile, KeepsTheCountersOfTheLongerRun) {
  Profile one = ParseProfile("aa 0x1 f 50 900 3 -\naa 0x2 g 5 10 1 7\n");
  MergeProfile(ParseProfile("aa 0x1 f 40 9000 30 2\naa 0x2 g 6 1 - 3\n"), &one);
  EXPECT_THAT(Lines(one), testing::ElementsAre("aa 0x1 f 50 900 3 -", "aa 0x2 g 6 1 - 3"));
}

TEST(Profile, StandsOnDiskWholeAndReadable) {
  TemporaryDirectory folder;
  const std::string path = folder / "p.recrash-profile";
  ASSERT_TRUE(WriteProfile(ParseProfile(kText), path));
  const Result<Profile> read = ReadProfile(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(ProfileText(*read), kText);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
  EXPECT_THAT(folder.names(), testing::ElementsAre("p.recrash-profile"));
  EXPECT_FALSE(WriteProfile(ParseProfile(kText), folder / "none/p"));
}

TEST(Profile, RefusesOtherFiles) {
  TemporaryDirectory folder;
  EXPECT_EQ(ReadProfile(folder / "none").error().code, Errc::kMissing);
  WriteBytes(folder / "elf", {0x7f, 'E', 'L', 'F', 0, 1, 2, '\n', 3});
  EXPECT_EQ(ReadProfile(folder / "elf").error().code, Errc::kDamaged);
  EXPECT_THAT(ReadProfile(folder / "elf").error().message, HasSubstr("no line of it names a function"));
  EXPECT_FALSE(ReadProfile("/dev/zero"));
}

TEST(Profile, SurvivesDamage) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string text = kText;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % (text.size() + 1));
    Profile profile = ParseProfile(text);
    // What was understood is understood again.
    EXPECT_EQ(ProfileText(ParseProfile(ProfileText(profile))), ProfileText(profile));
  }
}

}  // namespace
}  // namespace recrash
