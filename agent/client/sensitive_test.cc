// Values that the program has marked are in no file that leaves it, packed or unpacked.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "agent/client/testing_program.h"
#include "agent/report/archive.h"

namespace recrash {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kSecret[] = "correct horse battery staple";

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Everything that the report has, as it was before it was packed.
std::string Unpacked(const Report& report) {
  std::string text;
  const auto add = [&](const std::vector<uint8_t>& bytes) { text.append(bytes.begin(), bytes.end()) += '\n'; };
  add(*EncodeMetadata(report));
  for (const Region& region : report.memory) add(region.bytes);
  for (const Input& input : report.inputs) add(input.bytes);
  if (!report.snapshots) return text;
  add(*EncodeSnapshots(*report.snapshots));
  for (const EntryState& state : report.snapshots->states)
    for (const Region& region : state.memory.own()) add(region.bytes);
  return text;
}

// How many windows of eight bytes of the secret are in the text.
size_t Found(const std::string& text) {
  size_t found = 0;
  const std::string secret = kSecret;
  for (size_t at = 0; at + 8 <= secret.size(); ++at) found += text.find(secret.substr(at, 8)) != text.npos ? 1 : 0;
  return found;
}

// With and without a collector.
class Sensitive : public testing::TestWithParam<bool> {
 protected:
  static Program Failing(const std::string& failure) {
    Program program = Program::Failing(failure).At(RECRASH_TEST_SENSITIVE);
    if (!GetParam()) program.With("RECRASH_COLLECTOR", "/nonexistent");
    return program;
  }
  static Report OnlyReport(const Ran& ran) { return ran.OnlyReport(GetParam() ? ".rcr" : ".rcraw"); }
  static void ExpectNothing(const Ran& ran) {
    for (const std::string& file : ran.Files("")) EXPECT_EQ(Found(TextOf(ran.Path(file))), 0u) << file;
    EXPECT_EQ(Found(Unpacked(OnlyReport(ran))), 0u);
    EXPECT_EQ(ran.Files("").size(), GetParam() ? 3u : 1u);  // report, minidump, index
  }
};

INSTANTIATE_TEST_SUITE_P(ByBoth, Sensitive, testing::Bool(),
                         [](const auto& info) { return info.param ? "Collector" : "RawWriter"; });

TEST_P(Sensitive, ValuesAreNowhere) {
  const Ran ran = Failing("segv").With("GIVEN", kSecret).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  ExpectNothing(ran);
  const Report report = OnlyReport(ran);
  EXPECT_THAT(Unpacked(report), HasSubstr("password=****************************"));
  EXPECT_THAT(Unpacked(report), HasSubstr("GIVEN=****************************"));
  EXPECT_EQ(report.failing_thread()->registers.dwarf[12], 0x2a2a2a2a2a2a2a2au);
  uint8_t pin[4] = {};
  EXPECT_TRUE(report.Read(ran.address(), pin));
  EXPECT_EQ(std::string(pin, pin + 4), "****") << "a marked place, though its value is short";
}

TEST_P(Sensitive, ValuesOfAnExceptionAreNowhere) {
  const Ran ran = Failing("throw").Run();
  EXPECT_EQ(ran.outcome(), -SIGABRT);
  ExpectNothing(ran);
  EXPECT_EQ(OnlyReport(ran).failure.exception_what, "wrong: ****************************");
}

TEST_P(Sensitive, ValuesOfAnExceptionThatWasReplacedAreNowhere) {
  const Ran ran = Failing("replace").Run();
  ExpectNothing(ran);
  const Report report = OnlyReport(ran);
  ASSERT_TRUE(report.replaced);
  EXPECT_EQ(report.replaced->what, "wrong: ****************************");
}

// Pieces of fewer than eight bytes, each in a mapping of its own, are put together by whoever reads the report.
TEST_P(Sensitive, ValuesOverEdgesAreNowhere) {
  const Report report = OnlyReport(Failing("segv").Run());
  const std::string secret = kSecret;
  constexpr size_t kEdge = 7, kPiece = 4;
  size_t masked = 0;
  for (const Region& region : report.memory) {
    const std::string bytes(region.bytes.begin(), region.bytes.end());
    for (const std::string& edge :
         {bytes.substr(0, kEdge), bytes.substr(bytes.size() - std::min(bytes.size(), kEdge))}) {
      masked += edge.find("****") != edge.npos;
      for (size_t at = 0; at + kPiece <= secret.size(); ++at)
        EXPECT_EQ(edge.find(secret.substr(at, kPiece)), edge.npos) << std::hex << region.address.value << ": " << edge;
    }
  }
  EXPECT_GE(masked, 20u);
}

TEST_P(Sensitive, ValuesInNamesOfThreadsAreNowhere) {
  const Report report = OnlyReport(Failing("segv").Run());
  EXPECT_EQ(report.failing_thread()->name, "***************");
}

// The program goes on with its secrets as they were.
TEST_P(Sensitive, ValuesStayAsTheyAreInTheProgram) {
  const Ran ran = Failing("report").Run();
  EXPECT_EQ(ran.outcome(), 7);
  ExpectNothing(ran);
  EXPECT_EQ(OnlyReport(ran).failure.reason, "password=****************************");
}

TEST_P(Sensitive, ValuesBeyondTheTableLeaveNoMemory) {
  const Ran ran = Failing("too-many").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_THAT(OnlyReport(ran).memory, IsEmpty());
}

TEST(SensitiveInputs, AreMasked) {
  const Ran ran = Program::Failing("segv")
                      .At(RECRASH_TEST_SENSITIVE)
                      .With("RECRASH_OPTIONS", "files=embed")
                      .After([] {
                        std::ofstream("input") << "password: " << kSecret;
                        if (open("input", O_RDONLY) < 0) _exit(124);
                      })
                      .Run();
  const Report report = ran.OnlyReport();
  EXPECT_THAT(Unpacked(report), HasSubstr("password: ****************************\n"));
  EXPECT_EQ(Found(Unpacked(report)), 0u);
  EXPECT_THAT(report.losses, Contains(HasSubstr("marked as sensitive")));
}

// An older collector would not mask: it refuses what such a program left, and the client writes a raw report.
TEST(SensitiveRecord, IsOfAVersionThatOlderCollectorsRefuse) {
  const Ran ran = Program::Failing("segv").At(RECRASH_TEST_SENSITIVE).With("RECRASH_COLLECTOR", "/nonexistent").Run();
  const std::string raw = TextOf(ran.Path(ran.Files(".rcraw").front()));
  const std::string magic("RECRASH1", 8);
  const size_t at = raw.find(magic);
  ASSERT_NE(at, raw.npos);
  EXPECT_EQ(raw[at + 8], 2);
}

}  // namespace
}  // namespace recrash
