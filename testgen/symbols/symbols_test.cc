// Looking through the search paths is what symbols cost most: up to 20,000 files are opened.
#include "testgen/symbols/symbols.h"

#include <gtest/gtest.h>

#include "testgen/symbols/first_failure.h"
#include "testgen/symbols/profiled_functions.h"
#include "testgen/symbols/testing_crashed_process.h"
#include "testgen/symbols/testing_listings.h"

namespace recrash {
namespace {

constexpr char kProgram[] = R"(
__attribute__((noinline)) int Read(int* target) { return *target + 1; }
int main() { return Read(nullptr) + 1; }
)";

// A stripped program's unstripped file may lie anywhere under the search path.
TEST(Symbols, AreLookedForOnceForAllThatIsReadFromAReport) {
  const Fixture fixture(kProgram, Monitored("-O2 -g") + " -Wl,--build-id");
  fixture.Run("mkdir symbols && cp program symbols/unstripped && strip program");
  Report report = fixture.Crash();
  SymbolOptions options;
  options.search_paths = {fixture.path("symbols")};
  Listings listings(fixture.path("symbols"));

  const Result<Symbols> symbols = Symbols::Open(report, options);
  ASSERT_TRUE(symbols);
  GoBackToFault(*symbols, &report);
  const Backtrace backtrace = MustRead(report, *symbols);
  EXPECT_EQ(FunctionNames(backtrace).front(), "Read");
  EXPECT_EQ(MakeReplayData(backtrace, *symbols).frames.size(), 2u);
  EXPECT_EQ(FunctionsToWatch(backtrace, *symbols).functions.size(), 1u);  // main has no arguments, and no record
  EXPECT_EQ(MustRead(report, *symbols).frames.size(), backtrace.frames.size());
  EXPECT_EQ(listings.Count(), 1);

  ASSERT_TRUE(Symbols::Open(report, options));  // opened twice, it is seen
  EXPECT_EQ(listings.Count(), 1);
}

// The caller moves its report into a suite, and still asks.
TEST(Symbols, OutliveTheReport) {
  const Fixture fixture(kProgram, "-O2 -g");
  auto report = std::make_unique<Report>(fixture.Crash());
  const Result<Symbols> symbols = Symbols::Open(*report, {});
  ASSERT_TRUE(symbols);
  const Backtrace backtrace = MustRead(*report, *symbols);
  report.reset();
  EXPECT_EQ(MakeReplayData(backtrace, *symbols).images.size(), 1u);
}

}  // namespace
}  // namespace recrash
