// Frames that a replay of a frame outside meets: inlined ones where their call begins, those whose arguments the crash
// has lost, and those whose state has moved on.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "testgen/suite/steps.h"
#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

constexpr char kHead[] = R"(
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#define NOINLINE __attribute__((noinline))
#define INLINED __attribute__((always_inline))
)";

class Listener : public Observer {
 public:
  void Note(const std::string& text) override { notes += text + "\n"; }
  bool Ask(const std::string&) override { return false; }
  void Progress(const std::string&, size_t, size_t) override {}
  std::string notes;
};

// A program that crashed, and the verdicts after derivation.
class Met : public ReplayedProgram {
 public:
  explicit Met(const std::string& source, const std::string& flags = "-O2 -g",
               const std::vector<std::string>& arguments = {}, const std::string& mode = "references")
      : ReplayedProgram(kHead + source, flags, arguments, mode) {
    suite_.report = report();
    suite_.backtrace = MustRead(report());
    before_ = suite_.backtrace;
    VerifyOptions options;
    options.program = fixture().path();
    options.support_directory = RECRASH_TEST_SUPPORT_DIRECTORY;
    Result<std::vector<FrameVerdict>> verdicts = ReplayFrames(suite_.report, options, &listener_);
    if (!verdicts) throw std::runtime_error(verdicts.error().message);
    verdicts_ = *std::move(verdicts);
    const Status derived = ReplayDerived(false, options, &suite_, &verdicts_, &listener_);
    if (!derived) throw std::runtime_error(derived.error().message);
  }

  const Frame& FrameOf(const std::string& function) const { return recrash::FrameOf(suite_.backtrace, function); }

  // The frame of the function is inlined and reproduces.
  void ExpectReproduced(const std::string& function) const {
    EXPECT_TRUE(FrameOf(function).inlined) << function;
    ExpectDerived(function);
  }

  void ExpectDerived(const std::string& function) const {
    const Frame& frame = FrameOf(function);
    const auto verdict = std::ranges::find(verdicts_, frame.index, &FrameVerdict::index);
    ASSERT_NE(verdict, verdicts_.end()) << function << ": " << frame.why_not << "\n" << Text();
    EXPECT_EQ(verdict->verdict, Verdict::kReproduced) << Text();
  }

  bool was_candidate(const std::string& function) const { return recrash::FrameOf(before_, function).candidate; }
  const TestReport& derived() const { return suite_.report; }

  std::string Text() const { return VerdictText(suite_.report, verdicts_) + listener_.notes; }

 protected:
  Suite suite_;
  Backtrace before_;
  std::vector<FrameVerdict> verdicts_;
  Listener listener_;
};

// Each of a chain, whose innermost one hands a value to the library.
TEST(MetFrames, OfAChainEachIsCalled) {
  const Met program(R"(
    INLINED size_t Length(const char* text) { return strlen(text) + 1; }
    INLINED size_t Both(const char* a, const char* b) { return Length(a) + Length(b); }
    INLINED size_t All(const char* const* names, int count) { return Both(names[0], names[count - 1]); }
    const char* names[] = {"one", nullptr};
    NOINLINE size_t Around(int count) { return All(names, count) * 2; }
    int main(int argc, char**) { return static_cast<int>(Around(argc + 1)); }
  )");
  for (const char* function : {"Length(", "Both(", "All("}) program.ExpectReproduced(function);
}

// What the ABI passes on the stack, in vector registers, in two registers, and by address.
TEST(MetFrames, GetArgumentsWhereTheAbiPutsThem) {
  const Met program(R"(
    struct Pair { const char* first; long second; };
    struct Large { long values[5]; };
    NOINLINE long Use(const void* p, long n) { asm volatile("" : : "r"(p), "r"(n) : "memory"); return n; }
    INLINED long Many(Pair pair, double factor, Large large, int a, int b, int c, int d, int e, int f) {
      asm volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f), "x"(factor) : "memory");
      if (factor != 2.5 || large.values[3] != 14 || e != 5 || f != 6 || a != 1) exit(0);
      return Use(&large, large.values[4]) + pair.first[pair.second];
    }
    NOINLINE void Make(Pair* pair, Large* large, double* factor, int* n) {
      *pair = {nullptr, 3};
      for (long i = 0; i < 5; ++i) large->values[i] = 11 + i;
      *factor = 2.5;
      for (int i = 0; i < 6; ++i) n[i] = i + 1;
    }
    NOINLINE long Around() {
      Pair pair; Large large; double factor; int n[6];
      Make(&pair, &large, &factor, n);
      return Many(pair, factor, large, n[0], n[1], n[2], n[3], n[4], n[5]);
    }
    int main() { return static_cast<int>(Around()); }
  )");
  program.ExpectReproduced("Many(");
}

// The place for a result in memory is on the stack below.
TEST(MetFrames, ReturnObjects) {
  const Met program(R"(
    const char* names[] = {"a prefix that is longer than what lies inside", nullptr};
    struct Text { std::string text; };
    INLINED Text Name(const char* prefix, const char* name) { Text made{prefix}; made.text += name; return made; }
    NOINLINE size_t Around(const char* name) { return Name(names[0], name).text.size(); }
    const char* volatile none;
    int main() { return static_cast<int>(Around(none)); }
  )");
  program.ExpectReproduced("Name(");
}

// Its value is what it was where the call begins, though the loop has moved on by the crash.
TEST(MetFrames, ShowArgumentsAsTheyWere) {
  const Met program(R"(
    struct Node { Node* next; long value; };
    NOINLINE long Use(long n) { asm volatile("" : "+r"(n)); return n; }
    INLINED long Sum(const Node* node, long count) {
      long sum = 0;
      if (count < 3) exit(0);
      while (count-- > 0) { sum += Use(node->value); node = node->next; }
      return sum;
    }
    NOINLINE long Around(const Node* node, long count) { return Sum(node, count + 2) * 3; }
    Node nodes[2] = {{nodes + 1, 1}, {nullptr, 2}};
    int main(int argc, char**) { return static_cast<int>(Around(nodes, argc)); }
  )");
  program.ExpectReproduced("Sum(");
  EXPECT_EQ(ValueOf(ParameterOf(program.FrameOf("Sum("), "count")), 3u);
}

// The function has taken the item off the list before it fails: from the memory of the crash it takes the next one, and
// returns. Its caller goes on to the last one, and fails there.
TEST(MetFrames, ReproduceThoughTheStateHasMovedOn) {
  const Met program(R"(
    struct Item { Item* next; const long* value; };
    NOINLINE long Take(Item** items) {
      Item* first = *items;
      *items = first->next;
      return *first->value;
    }
    NOINLINE long Drain(Item** items) {
      long sum = 0;
      while (*items) sum += Take(items);
      return sum;
    }
    long one = 1;
    Item last = {nullptr, nullptr}, third = {&last, &one}, second = {&third, nullptr}, first = {&second, &one};
    Item* items = &first;
    int main() { return static_cast<int>(Drain(&items)); }
  )");
  program.ExpectDerived("Take(");
  EXPECT_NE(program.derived().replay.FindEntryState(program.FrameOf("Take(").index), nullptr) << program.Text();
}

// Nothing has `which` any more at the crash.
TEST(MetFrames, GetArgumentsThatTheCrashHasLost) {
  constexpr char kSource[] = R"(
    struct Screen { const char* const* glyphs; long drawn; };
    NOINLINE size_t Render(Screen* screen, long which) {
      const char* glyph = screen->glyphs[which % 3];
      asm volatile("" : "+r"(glyph) : : "memory", "rdi", "rsi", "rax", "rcx", "rdx", "r8", "r9");
      return strlen(glyph) + 1;
    }
    NOINLINE long Pick(const char* text) { return *text; }
    NOINLINE size_t Show(Screen* screen, const char* text) {
      size_t width = 0;
      for (; *text; ++text) width += Render(screen, Pick(text));
      return width;
    }
    const char* const glyphs[] = {"one", nullptr, "three"};
    Screen screen{glyphs, 0};
    int main() { return static_cast<int>(Show(&screen, "caab")); }
  )";
  const Met program(kSource, "-O2 -g", {}, "second-chance");  // without records
  EXPECT_FALSE(program.was_candidate("Render(")) << program.Text();
  program.ExpectDerived("Render(");
  EXPECT_EQ(ValueOf(ParameterOf(program.FrameOf("Render("), "which")), uint64_t{'a'});
}

}  // namespace
}  // namespace recrash
