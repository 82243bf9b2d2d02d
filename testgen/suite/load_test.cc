#include "testgen/suite/load.h"

#include <gtest/gtest.h>

#include "agent/report/writer.h"
#include "testgen/suite/steps.h"
#include "testgen/symbols/testing_crashed_process.h"
#include "testgen/symbols/testing_listings.h"

namespace recrash {
namespace {

// Symbols may have to be looked for in 20,000 files: from a report to its suite that happens once.
TEST(Load, LooksThroughTheSearchPathOnceForAllSteps) {
  const Fixture fixture(R"(
__attribute__((noinline)) int Read(int* target) { return *target + 1; }
int main() { return Read(nullptr) + 1; }
)",
                        Monitored("-O2 -g") + " -Wl,--build-id");
  fixture.Run("mkdir symbols && cp program symbols/unstripped && strip program");
  ASSERT_TRUE(WriteReport(fixture.Crash(), fixture.path("crash.rcr")));
  Listings listings(fixture.path("symbols"));

  Result<Crash> crash = Load(fixture.path("crash.rcr"), {fixture.path(), {fixture.path("symbols")}});
  ASSERT_TRUE(crash);
  const Result<Suite> suite = Describe(*std::move(crash));
  ASSERT_TRUE(suite);
  EXPECT_EQ(suite->backtrace.frames.front().function, "Read(int*)");
  EXPECT_EQ(listings.Count(), 1);
}

}  // namespace
}  // namespace recrash
