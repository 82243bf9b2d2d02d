// Which parameters are streams, as compilers describe them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

constexpr char kProgram[] = R"(
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
using Input = const std::ifstream;
struct Tagged { long tag = 7; virtual ~Tagged() {} };
struct Named : Tagged, std::istringstream { Named() : std::istringstream("x") {} };
struct Shared : virtual std::istringstream { long own = 1; };
struct Holder { std::istream* in; };
volatile char sink;
__attribute__((noinline)) int Cxx(std::istream& in, Input* file, std::stringstream&& text, std::istream* none) {
  sink = in.peek() + file->is_open() + text.peek();
  return *reinterpret_cast<volatile int*>(none) + sink;
}
__attribute__((noinline)) int Mixed(Named* named, FILE* in, FILE* out, std::ostream& log, std::wistream& wide,
                                    Shared& shared, Holder* holder) {
  sink = named->peek() + std::fgetc(in) + wide.rdstate() + shared.own + holder->in->rdstate();
  std::fputc(sink, out);
  log << sink;
  std::ifstream file("/dev/null");
  return Cxx(*holder->in, &file, std::stringstream("a"), nullptr) + sink;
}
int main() {
  Named named;
  Shared shared;
  Holder holder{&std::cin};
  FILE* in = std::fopen("/dev/null", "r");
  FILE* out = std::fopen("/dev/null", "w");
  return Mixed(&named, in, out, std::cerr, std::wcin, shared, &holder);
}
)";

std::string StreamNames(const Frame& frame) {
  std::string text;
  for (const ReplayStream& stream : frame.streams) {
    text += text.empty() ? "" : " ";
    for (const Parameter& parameter : frame.parameters)
      if (parameter.number == stream.parameter) text += parameter.name;
    text += stream.kind == StreamKind::kFile ? "(FILE)" : "";
    if (stream.offset != 0) text += "+" + std::to_string(stream.offset);
  }
  return text;
}

class StreamsOf : public testing::TestWithParam<const char*> {};

// `none` is null, `out` is only written, `log` has nothing to read, `shared` has its istream as a virtual base.
TEST_P(StreamsOf, AreThoseThatCanBeRead) {
  const Fixture fixture(kProgram, Monitored(GetParam()));
  const Report report = fixture.Crash();
  const Result<Symbols> symbols = Symbols::Open(report, {});
  ASSERT_TRUE(symbols);
  const Backtrace backtrace = MustRead(report, *symbols);
  EXPECT_EQ(StreamNames(FrameOf(backtrace, "Cxx(")), "in file text");
  EXPECT_EQ(StreamNames(FrameOf(backtrace, "Mixed(")), "named+16 in(FILE)");

  EXPECT_EQ(MakeReplayData(backtrace, *symbols).frames[0].streams.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Builds, StreamsOf,
                         testing::Values("-O0 -g", "-O2 -g", "-O2 -gdwarf-4", "-O1 -g -fstandalone-debug"));

// Where libc++ keeps a stream's state nobody has looked: its streams are left as they are, C's are C's.
TEST(StreamsOfLibcxx, AreLeftAlone) {
  if (!std::filesystem::exists("/usr/lib/llvm-19/include/c++/v1/string")) GTEST_SKIP() << "libc++-19-dev is missing";
  const Fixture fixture(kProgram, "-O0 -g -stdlib=libc++");
  const Backtrace backtrace = MustRead(fixture.Crash());
  EXPECT_EQ(StreamNames(FrameOf(backtrace, "Cxx(")), "");
  EXPECT_EQ(StreamNames(FrameOf(backtrace, "Mixed(")), "in(FILE)");
}

}  // namespace
}  // namespace recrash
