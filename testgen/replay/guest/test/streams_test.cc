// Functions that were handed a stream: at the crash it has been read, so they are tried again with it rewound.
#include <gtest/gtest.h>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

// Counts words; the fourth is too many. `open` makes the stream and calls.
std::string Counter(const std::string& open) {
  return R"(
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
struct Item { int value; };
__attribute__((noinline)) int Use(Item* item, int n) { return item->value + n; }
__attribute__((noinline)) int Parse(std::istream& in, Item* item) {
  std::string word;
  int words = 0;
  while (in >> word) ++words;
  return Use(words == 4 ? nullptr : item, words) + 1;
}
__attribute__((noinline)) int ParseFile(FILE* in, Item* item) {
  int letters = 0;
  while (std::fgetc(in) != EOF) ++letters;
  return Use(letters == 8 ? nullptr : item, letters) + 1;
}
int main(int, char** argv) {
  Item item{3};
  { std::ofstream("input") << "a b c d\n"; }
  )" + open +
         "\n}\n";
}

constexpr char kFileStream[] = R"(std::ifstream in("input"); return Parse(in, &item) + 1;)";

void ExpectRewound(const std::string& open, const std::string& function, const std::string& flags = "-O2 -g",
                   const VerifyOptions& options = {}) {
  const ReplayedProgram program(Counter(open), flags);
  const FrameVerdict verdict = program.Verify(function, options);
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
  EXPECT_TRUE(verdict.start.rewind) << program.text();
  EXPECT_EQ(verdict.start.depth, 0);
  EXPECT_FALSE(program.Verify("Use", options).start.rewind) << program.text();
}

TEST(Streams, AreRewound) {
  ExpectRewound(kFileStream, "Parse(");
  ExpectRewound(R"(std::istringstream in("a b c d"); return Parse(in, &item) + 1;)", "Parse(");
  ExpectRewound(R"(FILE* in = std::fopen("input", "r"); return ParseFile(in, &item) + 1;)", "ParseFile(");
}

TEST(Streams, AreRewoundInOtherBuilds) {
  ExpectRewound(kFileStream, "Parse(", "-O0 -g");
  ExpectRewound(kFileStream, "Parse(", "-O2 -g -no-pie -fno-pie");
  ExpectRewound(kFileStream, "Parse(", "-O2 -g -static-libstdc++ -static-libgcc -Wl,-u,_ZNSi5seekgElSt12_Ios_Seekdir");
}

TEST(Streams, AreRewoundWhereBasesCannotBeForced) {
  VerifyOptions options;
  options.allow_same_bases = false;
  ExpectRewound(kFileStream, "Parse(", "-O2 -g", options);
}

TEST(Streams, AreRewoundInAClassOfTheUsersOwn) {
  ExpectRewound(R"(
  struct Tagged { long tag = 7; virtual ~Tagged() {} };
  struct Named : Tagged, std::istringstream {
    using std::istringstream::istringstream;
    __attribute__((noinline)) int Count(Item* item) { return Parse(*this, item) + 1; }
  };
  Named in("a b c d");
  return in.Count(&item) + 1;)",
                "main::Named::Count(");
}

// A pipe has no beginning to go back to: the outcome with the stream as it was stands.
TEST(Streams, ThatCannotSeekChangeNothing) {
  const ReplayedProgram program(Counter(R"(
  FILE* in = popen("cat input", "r");
  return ParseFile(in, &item) + 1;)"));
  const FrameVerdict verdict = program.Verify("ParseFile(");
  EXPECT_EQ(verdict.verdict, Verdict::kReturned) << program.text();
  EXPECT_FALSE(verdict.start.rewind);
}

// The streams of a frame may have any code behind them; what happens there is not the recorded failure.
std::string OwnBuffer(const std::string& seek) {
  return Counter(R"(
  struct Buffer : std::stringbuf {
    Buffer() : std::stringbuf("a b c d") {}
    pos_type seekoff(off_type, std::ios::seekdir, std::ios::openmode) override { )" +
                 seek + R"( }
  } buffer;
  std::istream in(&buffer);
  in.exceptions(std::ios::badbit);
  return Parse(in, &item) + 1;)");
}

TEST(Streams, ThatFailInTheSamePlaceDoNotReproduce) {
  for (const char* seek :
       {"return Use(nullptr, 0);", "throw 5;", "for (;;) { *(volatile int*)this; }", "std::exit(3);", "return -1;"}) {
    const ReplayedProgram program(OwnBuffer(seek));
    VerifyOptions options;
    options.seconds_per_frame = 1;
    const FrameVerdict verdict = program.Verify("Parse(", options);
    EXPECT_EQ(verdict.verdict, Verdict::kReturned) << seek << "\n" << program.text();
    EXPECT_FALSE(verdict.start.rewind);
    EXPECT_EQ(verdict.note, "returned");
  }
}

// What a report says of streams may be made up.
TEST(Streams, ThatAreNoneEndNoReplay) {
  ReplayedProgram program(Counter(kFileStream));
  for (ReplayFrame& frame : program.report().replay.frames) {
    for (ReplayStream& stream : frame.streams) stream.offset = 4000;
  }
  EXPECT_EQ(program.Verify("Parse(").verdict, Verdict::kReturned) << program.text();
  for (ReplayFrame& frame : program.report().replay.frames) {
    frame.streams.assign(1000, {.parameter = 1, .kind = StreamKind::kFile, .offset = 65535});
    frame.streams.resize(2000, {.parameter = 255, .kind = StreamKind::kIstream, .offset = 0});
  }
  EXPECT_EQ(program.Verify("Parse(").verdict, Verdict::kReturned) << program.text();
}

}  // namespace
}  // namespace recrash
