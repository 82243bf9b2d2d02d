// Memory that a report withholds is not there in a replay: who reads it fails, instead of finding zeros.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace recrash
