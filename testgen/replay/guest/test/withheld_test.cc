// A replay that touches memory which the report does not have says nothing about the bug, however it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/report/maps.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

// Zeros would do for Look as well as what was there. Ask looks by a system call, which would fail where nothing is
// mapped.
constexpr const char* kSecret = R"(
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
struct Box { volatile char* page; int* cell; };
__attribute__((noinline)) void Store(int* cell) { *cell = 1; }
__attribute__((noinline)) void Look(Box* box) {
  for (int i = 0; i < 64; ++i) if (box->page[i] == 'z') ++box->cell;
  Store(box->cell);
  ++box->cell;
}
__attribute__((noinline)) void Ask(Box* box) {
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], const_cast<char*>(box->page), 10) != 10) return;
  Look(box);
  ++box->cell;
}
int main() {
  auto* page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::strcpy(page, "key");
  madvise(page, 4096, MADV_DONTDUMP);
  Box box{page, nullptr};
  Ask(&box);
}
)";

TEST(Withheld, PagesDecideNothing) {
  const ReplayedProgram program(kSecret);
  EXPECT_EQ(program.Verify("Store").verdict, Verdict::kReproduced) << program.text();
  for (const char* function : {"Look", "Ask"}) {
    EXPECT_EQ(program.Verify(function).verdict, Verdict::kMissing) << program.text();
    EXPECT_THAT(program.text(), testing::HasSubstr("after it had touched memory that is not in this report (at 0x"));
  }
}

// Without the remedy the system call fails, and Ask returns before it gets to the bug.
TEST(Withheld, PagesDecideNothingByTheirRemedy) {
  const ReplayedProgram program(kSecret);
  const LeaveOut left_out("absent_memory");
  VerifyOptions options;
  options.support_directory = RECRASH_TEST_REMEDIES_DIRECTORY;
  EXPECT_EQ(program.Verify("Ask", options).verdict, Verdict::kReturned) << program.text();
}

// A function that the new build does not have is called through a pointer; the other reads what the program's code was.
TEST(Withheld, CodeOfAnotherBuildDecidesNothing) {
  constexpr const char* kProgram = R"(
using Step = int (*)(int);
namespace { __attribute__((noinline)) int STEP(int n) { return n + 1; } }
volatile Step g_step = STEP;
__attribute__((noinline)) int Fail(int* cell) { return *cell; }
__attribute__((noinline)) int Call(Step* step, int* cell) { return (*step)(1) + Fail(cell); }
__attribute__((noinline)) int Read(Step* step, int* cell) { return *reinterpret_cast<volatile char*>(*step) + Fail(cell); }
int main(int count, char**) {
  Step step = g_step;
  return count > 1 ? Read(&step, nullptr) : Call(&step, nullptr);
}
)";
  std::string other = kProgram;
  for (size_t at; (at = other.find("STEP")) != other.npos;) other.replace(at, 4, "Jump");
  for (const char* function : {"Call", "Read"}) {
    ReplayedProgram program(
        kProgram, "-O1 -g",
        function == std::string("Read") ? std::vector<std::string>{"1"} : std::vector<std::string>{});
    EXPECT_EQ(program.Verify(function).verdict, Verdict::kReproduced) << program.text();
    VerifyOptions options;
    options.program = program.Rebuild(other, "-O1 -g");
    EXPECT_EQ(program.Verify(function, options).verdict, Verdict::kMissing) << program.text();
    EXPECT_EQ(program.Verify("Fail", options).verdict, Verdict::kReproduced) << program.text();
  }
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
  EXPECT_EQ(program.Verify("Read").verdict, Verdict::kMissing) << program.text();
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
