// What replays touch is seen page by page, and what they do not reproduce without is said.
#include "testgen/verify/needed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/report/maps.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Store reads the second of four pages and writes to the fourth.
constexpr const char* kProgram = R"(
#include <sys/mman.h>
__attribute__((noinline)) void Store(volatile char* pages, int* cell) { pages[3 * 4096] = pages[4096]; *cell = 1; }
int main() {
  static int calls = 0;
  if (calls++) return 0;
  auto* pages = static_cast<char*>(mmap(nullptr, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (int page = 0; page < 4; ++page) pages[page * 4096] = 'p', pages[page * 4096 + 1] = '#', pages[page * 4096 + 2] = '!';
  Store(pages, nullptr);
}
)";

class Needed : public testing::Test {
 protected:
  Needed() {
    std::erase_if(report_.replay.frames, [](const ReplayFrame& frame) { return !frame.function.starts_with("Store"); });
    for (const Region& region : report_.memory)
      for (size_t at = 0; at + 4096 <= region.bytes.size(); at += 4096)
        if (std::ranges::equal(std::span(&region.bytes[at], 3), std::string("p#!")))
          pages_.push_back(region.address + at);
    options_.program = program_.fixture().path();
    options_.support_directory = RECRASH_TEST_SUPPORT_DIRECTORY;
  }

  ReplayedProgram program_{kProgram};
  TestReport& report_ = program_.report();
  std::vector<TargetAddress> pages_;
  VerifyOptions options_;
};

TEST_F(Needed, PagesAreThoseThatAReplayTouches) {
  ASSERT_EQ(pages_.size(), 4u);
  const Result<std::vector<TargetAddress>> touched = TouchedPages(report_, options_, pages_);
  ASSERT_TRUE(touched) << touched.error().message;
  EXPECT_THAT(*touched, ElementsAre(pages_[1], pages_[3]));
}

TEST_F(Needed, PagesAreMissed) {
  ASSERT_EQ(report_.replay.frames.size(), 1u);
  EXPECT_THAT(*ChangedTests(report_, options_), IsEmpty());
  Withhold(pages_[0], pages_[0] + 1, &report_.mappings);
  DropWithheld(&report_);
  EXPECT_THAT(*ChangedTests(report_, options_), IsEmpty());
  Withhold(pages_[1], pages_[1] + 1, &report_.mappings);
  DropWithheld(&report_);
  EXPECT_THAT(*ChangedTests(report_, options_), ElementsAre(report_.replay.frames[0].index));
}

}  // namespace
}  // namespace recrash
