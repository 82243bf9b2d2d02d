// What replays in another build see at the recorded place. A build is made harmless by what it does besides: the bad
// access is there, and finds something that does not end the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLevels[] = {"-O0 -g", "-O2 -g"};

// Verifies `main` in a build of `source` with the macros.
class Rebuilt {
 public:
  explicit Rebuilt(const std::string& source) : source_(source), program_(source, "-O1 -g") {}

  FrameVerdict In(const std::string& level, const std::string& macros, const std::string& function = "main") {
    VerifyOptions options;
    options.program = program_.Rebuild(source_, level + " " + macros);
    return program_.Verify(function, options);
  }
  const std::string& text() const { return program_.text(); }

 private:
  std::string source_;
  ReplayedProgram program_;
};

// What is dropped is freed, and a text of TEXT bytes may get its memory.
constexpr char kFreed[] = R"(
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifndef TEXT
#define TEXT 16
#endif
struct Node { Node* next; long value; };
struct List { Node* head; Node* cursor; };
__attribute__((noinline)) long Sum(const List* list) {
  long sum = 0;
  for (const Node* n = list->cursor; n; n = n->next)
    sum += n->value;
  return sum;
}
__attribute__((noinline)) void Drop(List* list) {
  Node* first = list->head;
  list->head = first->next;
#ifdef FIXED
  list->cursor = list->head;
#endif
  free(first);
}
int main() {
  List list{};
  for (int i = 0; i < 3; ++i) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    *node = {list.head, i};
    list.head = node;
  }
  list.cursor = list.head;
  Drop(&list);
  char* text = static_cast<char*>(malloc(TEXT));
  memset(text, 'x', TEXT);
#ifdef FINDS_NULL
  list.cursor->next = nullptr;
#endif
  printf("%ld\n", Sum(&list));
}
)";

TEST(RecordedPlace, UsesAFreedBlockThoughTheCallReturns) {
  Rebuilt program(kFreed);
  for (const char* level : kLevels) {
    EXPECT_EQ(program.In(level, "").verdict, Verdict::kReproduced) << level << program.text();
    const FrameVerdict harmless = program.In(level, "-DTEXT=400 -DFINDS_NULL");
    EXPECT_EQ(harmless.verdict, Verdict::kHarmless) << level << program.text();
    EXPECT_THAT(harmless.note, HasSubstr(":13 used a freed heap block of "));
    const FrameVerdict fixed = program.In(level, "-DFIXED");
    EXPECT_EQ(fixed.verdict, Verdict::kReturned) << level << program.text();
    EXPECT_THAT(fixed.note, HasSubstr(":13 2 times, none failed"));
  }
}

// What is read out of the freed block fails a line later.
constexpr char kLater[] = R"(
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifndef TEXT
#define TEXT 32
#endif
struct Lines { const char** first; };
__attribute__((noinline)) size_t Length(const Lines* lines) {
  const char* third = lines->first[2];
  return strlen(third) + 1;
}
int main() {
  Lines lines{static_cast<const char**>(malloc(32))};
  for (int i = 0; i < 4; ++i) lines.first[i] = "line";
#ifndef FIXED
  free(lines.first);
#endif
  char* text = static_cast<char*>(malloc(TEXT));
  memset(text, 'x', TEXT);
  printf("%zu %c\n", Length(&lines), text[3]);
}
)";

TEST(RecordedPlace, CountsWhatItsFunctionDoesBefore) {
  Rebuilt program(kLater);
  const std::string level = "-O0 -g";  // an optimiser leaves out what is written to a block that is freed
  EXPECT_EQ(program.In(level, "").verdict, Verdict::kReproduced) << program.text();
  const FrameVerdict harmless = program.In(level, "-DTEXT=400");
  EXPECT_EQ(harmless.verdict, Verdict::kHarmless) << program.text();
  EXPECT_THAT(harmless.note, HasSubstr(":10 used a freed heap block of "));
  EXPECT_EQ(program.In(level, "-DFIXED").verdict, Verdict::kReturned) << program.text();
}

// Reads one number behind the end, and where it then goes depends on SCALE.
constexpr char kBehind[] = R"(
#include <cstdio>
#include <cstdlib>
#ifndef SCALE
#define SCALE (1l << 40)
#endif
int table[100];
__attribute__((noinline)) long Zero() { volatile long zero = 0; return zero; }
__attribute__((noinline)) int Total(const long* rows, int n) {
  int total = 0;
  for (int i = 0; i < n; ++i)
    total += table[rows[i] * SCALE];
  return total;
}
int main(int argc, char**) {
  const int n = argc + 4;
  long* rows = static_cast<long*>(calloc(n, sizeof *rows));
#ifdef FIXED
  printf("%d\n", Total(rows, n));
#else
  printf("%d\n", Total(rows, n + 1));
#endif
}
)";

TEST(RecordedPlace, ReadsBehindABlockThoughTheCallReturns) {
  Rebuilt program(kBehind);
  for (const char* level : kLevels) {
    EXPECT_EQ(program.In(level, "").verdict, Verdict::kReproduced) << level << program.text();
    const FrameVerdict harmless = program.In(level, "'-DSCALE=Zero()'");
    EXPECT_EQ(harmless.verdict, Verdict::kHarmless) << level << program.text();
    EXPECT_THAT(harmless.note, HasSubstr("memory behind the end of the heap block of 40 bytes"));
    EXPECT_EQ(program.In(level, "-DFIXED").verdict, Verdict::kReturned) << level << program.text();
  }
}

// The local lies deep in the stack. NOISE bytes above it are overwritten.
constexpr char kDead[] = R"(
#include <cstdio>
#include <cstring>
#ifndef NOISE
#define NOISE 8000
#endif
struct Config { const char* name; long size; };
struct Server { const Config* config; };
__attribute__((noinline)) int Start(Server* server, int size) {
  volatile char room[3000];
  room[size] = 1;
#ifdef FIXED
  static
#endif
  Config config;
  config = {"server", size};
  server->config = &config;
  return room[size];
}
__attribute__((noinline)) int Noise(int n) {
  volatile char room[NOISE];
  for (int i = 0; i < NOISE; ++i) room[i] = static_cast<char>(n + 3);
  return room[n];
}
__attribute__((noinline)) long Serve(const Server* server) {
  return server->config->name[0] + server->config->size;
}
int main(int argc, char**) {
  Server server{};
  int before = Start(&server, argc);
  printf("%ld\n", before + Noise(argc) + Serve(&server));
}
)";

TEST(RecordedPlace, ReadsADeadLocalThoughTheCallReturns) {
  Rebuilt program(kDead);
  const std::string level = "-O0 -g";  // an optimiser leaves out what is written to a local that dies
  EXPECT_EQ(program.In(level, "").verdict, Verdict::kReproduced) << program.text();
  const FrameVerdict harmless = program.In(level, "-DNOISE=8");
  EXPECT_EQ(harmless.verdict, Verdict::kHarmless) << program.text();
  EXPECT_THAT(harmless.note, HasSubstr("a local of a function that has returned"));
  const FrameVerdict fixed = program.In(level, "-DFIXED");
  EXPECT_EQ(fixed.verdict, Verdict::kReturned) << program.text();
  EXPECT_THAT(fixed.note, HasSubstr("1 time, none failed"));
}

// The build that crashed has no frame of the function.
constexpr char kInlined[] = R"(
#include <cstdio>
struct Cell { int* value; int Get() const { return *value + 1; } };
__attribute__((noinline)) int Sum(const Cell* cells, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += cells[i].Get();
  return sum;
}
int main(int argc, char**) {
  int number = argc;
#ifdef FIXED
  const Cell cells[] = {{&number}, {&number}};
#else
  const Cell cells[] = {{&number}, {argc > 5 ? &number : nullptr}};
#endif
  printf("%d\n", Sum(cells, 2));
}
)";

TEST(RecordedPlace, IsKnownWhereItWasInlined) {
  Rebuilt program(kInlined);
  for (const char* level : kLevels) {
    EXPECT_EQ(program.In(level, "").verdict, Verdict::kReproduced) << level << program.text();
    EXPECT_THAT(program.In(level, "-DFIXED").note, HasSubstr(":3 2 times, none failed")) << level;
  }
}

// What an optimiser makes of a null that cannot be: an address beside an object.
constexpr char kReturnAddress[] = R"(
#include <cstdio>
struct Item { int price; int count; };
Item* beside;
__attribute__((noinline)) long Price(const Item* item) {
  return item->price * item->count;
}
__attribute__((noinline)) long Total(const Item* item) {
#ifdef BESIDE
  if (!item) item = beside;
#endif
#ifdef FIXED
  if (!item) return 0;
#endif
  return Price(item) + 1;
}
int main(int argc, char**) {
  beside = reinterpret_cast<Item*>(static_cast<char*>(__builtin_frame_address(0)) + 8);
  Item item{argc, 2};
  printf("%ld\n", Total(&item) + Total(argc > 5 ? &item : nullptr));
}
)";

TEST(RecordedPlace, ReadsAReturnAddressThoughTheCallReturns) {
  Rebuilt program(kReturnAddress);
  for (const char* level : kLevels) {
    EXPECT_EQ(program.In(level, "").verdict, Verdict::kReproduced) << level << program.text();
    for (const char* function : {"main", "Total"}) {
      const FrameVerdict harmless = program.In(level, "-DBESIDE", function);
      EXPECT_EQ(harmless.verdict, Verdict::kHarmless) << level << program.text();
      EXPECT_THAT(harmless.note, HasSubstr(":6 used a return address on the stack, at 0x"));
    }
    const FrameVerdict fixed = program.In(level, "-DFIXED");
    EXPECT_EQ(fixed.verdict, Verdict::kReturned) << level << program.text();
    EXPECT_THAT(fixed.note, HasSubstr("1 time, none failed"));
  }
}

// A program that gets to the place often is not slowed down for long, and one that does not is said to.
constexpr char kOften[] = R"(
#include <cstdio>
#include <cstdlib>
struct Cell { int* value; };
int calls = 0;
__attribute__((noinline)) int Get(const Cell* cell) {
  return *cell->value + calls++;
}
int main(int argc, char**) {
  int number = argc;
  Cell good{&number}, bad{nullptr};
  int sum = 0;
#ifdef OFTEN
  for (int i = 0; i < 1000000; ++i) sum += Get(&good);
#elif !defined(NEVER)
  sum += Get(&bad);
#endif
  printf("%d\n", sum);
}
)";

TEST(RecordedPlace, IsCountedUpToALimit) {
  Rebuilt program(kOften);
  for (const char* level : kLevels) {
    const FrameVerdict often = program.In(level, "-DOFTEN");
    EXPECT_EQ(often.verdict, Verdict::kReturned) << level << program.text();
    EXPECT_THAT(often.note, testing::ContainsRegex("returned; reached .*:7 more than [0-9]+ times, none failed"));
    EXPECT_THAT(program.In(level, "-DNEVER").note, HasSubstr("returned; did not come to "));
  }
}

}  // namespace
}  // namespace recrash
