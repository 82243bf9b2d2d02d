// Memory that a report withholds is not there in a replay: who reads it fails, instead of finding zeros.
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/report/maps.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

// Zeros would do for Look as well as what was there.
TEST(Withheld, PagesCannotBeRead) {
  const ReplayedProgram program(R"(
#include <cstring>
#include <sys/mman.h>
struct Box { volatile char* page; int* cell; };
__attribute__((noinline)) void Store(int* cell) { *cell = 1; }
__attribute__((noinline)) void Look(Box* box) {
  for (int i = 0; i < 64; ++i) if (box->page[i] == 'z') ++box->cell;
  Store(box->cell);
  ++box->cell;
}
int main() {
  auto* page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::strcpy(page, "key");
  madvise(page, 4096, MADV_DONTDUMP);
  Box box{page, nullptr};
  Look(&box);
}
)");
  EXPECT_EQ(program.Verify("Store").verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("Look").verdict, Verdict::kDifferentFailure) << program.text();
}

// The stack is then several mappings: calls still find room below, and an overflow is still one.
constexpr const char* kDeepStack = R"(
#include <cstring>
__attribute__((noinline)) int Read(volatile char* page, int* cell) { return *page + *cell; }
__attribute__((noinline)) int Dive(int* cell) { volatile char room[100000]; room[0] = 1; return *cell + room[0]; }
__attribute__((noinline)) int Fall(volatile int* depth) {
  volatile char room[1000];
  room[0] = 1;
  ++*depth;
  return Fall(depth) + room[0];
}
int main(int count, char**) {
  char buffer[20000];
  std::memset(buffer, 'k', sizeof buffer);
  volatile int depth = 0;
  if (count == 2) return Fall(&depth);
  return count == 3 ? Dive(nullptr) : Read(&buffer[10000], nullptr);
}
)";

void WithholdPagesOf(char letter, TestReport* report) {
  const std::vector<Region> memory = report->memory;
  for (const Region& region : memory) {
    for (size_t at = 0; at + 4096 <= region.bytes.size(); at += 4096)
      if (std::all_of(&region.bytes[at], &region.bytes[at] + 4096, [=](uint8_t c) { return c == letter; }))
        Withhold(region.address + at, region.address + at + 4096, &report->mappings);
  }
  DropWithheld(report);
}

TEST(Withheld, PagesOfTheStackLeaveItsCalls) {
  ReplayedProgram program(kDeepStack);
  WithholdPagesOf('k', &program.report());
  EXPECT_GT(WithheldBytes(program.report().mappings), 8192u);
  EXPECT_EQ(program.Verify("Read").verdict, Verdict::kDifferentFailure) << program.text();
  ReplayedProgram diving(kDeepStack, "-O2 -g", {"1", "2"});
  WithholdPagesOf('k', &diving.report());
  EXPECT_EQ(diving.Verify("Dive").verdict, Verdict::kReproduced) << diving.text();
}

TEST(Withheld, PagesOfTheStackLeaveItsOverflow) {
  ReplayedProgram program(kDeepStack, "-O1 -g", {"1"}, "references", "", "ulimit -s 256");
  WithholdPagesOf('k', &program.report());
  EXPECT_GT(WithheldBytes(program.report().mappings), 8192u);
  EXPECT_EQ(program.Verify("Fall").verdict, Verdict::kReproduced) << program.text();
}

}  // namespace
}  // namespace recrash
