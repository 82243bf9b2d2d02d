// What AddressSanitizer finds in blocks of the recorded heap, which its allocator does not know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using testing::HasSubstr;

constexpr char kSanitized[] = "-O1 -g -fsanitize=address";

// The same program with another body of Use.
std::string Program(const std::string& body) {
  return R"(
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
struct Table {
  char* live = static_cast<char*>(std::malloc(24));
  char* freed = static_cast<char*>(std::malloc(40));
  char* large = static_cast<char*>(std::malloc(1 << 20));
  FILE* file = std::fopen("/etc/passwd", "r");
  char* line = nullptr;
  size_t room = 0;
  std::string* text = new std::string(100, 'x');
  int* none = nullptr;
};
__attribute__((noinline)) char Look(char* text) { return *text; }
__attribute__((noinline)) int Use(Table* table) { )" +
         body + R"( }
int main() {
  auto* table = new Table;
  if (getline(&table->line, &table->room, table->file) < 0) return 1;
  std::free(table->freed);
  return Use(table);
}
)";
}

class Blocks : public testing::Test {
 protected:
  // Memory of the crash is that of the entry.
  void BeExact() {
    TestReport& report = program_.report();
    for (const ReplayFrame& frame : report.replay.frames) {
      if (!frame.function.starts_with("Use")) continue;
      EntryState state;
      state.frame = frame.index;
      state.brk_end = report.process.brk_end;
      state.files = report.files;
      report.replay.entry_states.push_back(state);
    }
  }

  FrameVerdict Verify(const std::string& body) {
    VerifyOptions options;
    options.support_directory = support_directory_;
    options.program = program_.Rebuild(Program(body), kSanitized);
    return program_.Verify("Use", options);
  }

  void ExpectFound(const std::string& body, const std::string& finding) {
    const FrameVerdict verdict = Verify(body);
    EXPECT_EQ(verdict.verdict, Verdict::kDifferentFailure) << body << "\n" << program_.text();
    EXPECT_THAT(verdict.note, HasSubstr("AddressSanitizer: " + finding + " in ")) << body;
  }

  void ExpectFine(const std::string& body) {
    const FrameVerdict verdict = Verify(body);
    EXPECT_EQ(verdict.verdict, Verdict::kReturned) << body << "\n" << program_.text();
  }

  std::string support_directory_;
  ReplayedProgram program_{Program("return *table->none;")};
};

TEST_F(Blocks, AreKnownToBeFreed) {
  BeExact();
  ExpectFound("return Look(table->freed);", "heap-use-after-free");
  ExpectFound("return Look(table->freed + 39);", "heap-use-after-free");
  ExpectFound("std::free(table->live); return Look(table->live);", "heap-use-after-free");
  ExpectFound("delete table->text; return Look(reinterpret_cast<char*>(table->text));", "heap-use-after-free");
  ExpectFound("char* old = table->live; table->live = (char*)std::realloc(old, 500); return Look(old);",
              "heap-use-after-free");
  ExpectFound("std::free(table->large); return Look(table->large + 70000);", "heap-use-after-free");
}

TEST_F(Blocks, EndWhereMallocSays) {
  BeExact();
  ExpectFine("std::memset(table->live, 1, 24); std::memset(table->large, 1, 1 << 20); return Look(table->live + 23);");
  ExpectFound("return Look(table->live + 24);", "heap-buffer-overflow");
  ExpectFound("return Look(table->live - 1);", "heap-buffer-overflow");
}

// At the recorded place a finding is the recorded failure.
TEST_F(Blocks, ArePlacesOfTheRecordedFailure) {
  BeExact();
  const FrameVerdict verdict = Verify("return *table->freed;");
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program_.text();
}

TEST_F(Blocks, AreFreedOnce) {
  BeExact();
  ExpectFound("std::free(table->freed); return 0;", "double-free");
  ExpectFound("std::free(table->live); std::free(table->live); return 0;", "double-free");
  ExpectFound("std::free(table->live + 16); return 0;", "bad-free");
  ExpectFound("char* volatile own = new char[4]; delete[] own; delete[] own; return 0;", "double-free");
}

TEST_F(Blocks, AreFreedAndResizedAsEver) {
  BeExact();
  ExpectFine("std::free(table->live); std::free(table->large); delete table->text; delete table; return 0;");
  ExpectFine(
      "table->live[20] = 7; table->live = (char*)std::realloc(table->live, 90); table->live[89] = 1; "
      "bool kept = table->live[20] == 7; std::free(table->live); return !kept * *table->none;");
  ExpectFine("table->large = (char*)std::realloc(table->large, 2 << 20); table->large[(2 << 20) - 1] = 1; return 0;");
  // The C library's own: a buffer that grows, a stream.
  ExpectFine(
      "std::rewind(table->file); getline(&table->line, &table->room, table->file); std::free(table->line); "
      "std::fclose(table->file); return 0;");
  ExpectFine("table->text->append(1000, 'y'); return table->text->size() != 1100;");
}

// Without all that, a bad access does no harm, and what frees a block does.
TEST_F(Blocks, AreUnknownUnlessTheyAreAnnounced) {
  BeExact();
  const LeaveOut left_out("blocks");
  support_directory_ = RECRASH_TEST_REMEDIES_DIRECTORY;
  ExpectFine("return Look(table->freed);");
  EXPECT_EQ(Verify("std::free(table->live); return 0;").verdict, Verdict::kCannotReplay) << program_.text();
}

// Whether a block was live when the call began is then not known.
TEST_F(Blocks, OfTheCrashProveNothingElsewhere) {
  const FrameVerdict elsewhere = Verify("return Look(table->freed);");
  EXPECT_EQ(elsewhere.verdict, Verdict::kMissing) << program_.text();
  EXPECT_THAT(elsewhere.note, HasSubstr("use of what was no live block at the crash in Look at "));
  EXPECT_THAT(elsewhere.note, HasSubstr("may have been one when the call began"));
  EXPECT_EQ(Verify("return *table->freed;").verdict, Verdict::kReproduced) << program_.text();
  EXPECT_EQ(Verify("std::free(table->freed); return 0;").verdict, Verdict::kMissing) << program_.text();
  ExpectFound("std::free(table->live); return Look(table->live);", "heap-use-after-free");
  ExpectFine("std::free(table->live); delete table->text; return 0;");
}

}  // namespace
}  // namespace recrash
