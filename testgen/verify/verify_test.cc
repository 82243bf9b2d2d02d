// Whole replays of small real programs: crash, capture, frames, verdicts.
#include "testgen/verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;

constexpr char kNullName[] = R"(
#include <cstdio>
#include <cstdlib>
#include <string>
struct Greeter {
  std::string greeting;
  int count = 0;
  __attribute__((noinline)) int Length(const char* name);
  __attribute__((noinline)) int Greet(const char* name);
};
int Greeter::Length(const char* name) { return greeting.size() + name[0] + count; }
int Greeter::Greet(const char* name) { ++count; return Length(name) + 1; }
int main(int argc, char** argv) {
  Greeter greeter{"hello, this is a long greeting"};
  std::printf("%d\n", greeter.Greet(argc > 5 ? argv[1] : nullptr));
}
)";

TEST(Verify, ReproducesEachFrameOfANullPointer) {
  const ReplayedProgram program(kNullName, "-O2 -g");
  EXPECT_EQ(program.Verify("Greeter::Length").verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("Greeter::Greet").verdict, Verdict::kReproduced) << program.text();
}

TEST(Verify, ReproducesAtEachOptimisationAndLinkage) {
  for (const char* flags : {"-O0 -g", "-O1 -g", "-O2 -g -no-pie -fno-pie", "-O2 -g -fuse-ld=lld"}) {
    const ReplayedProgram program(kNullName, flags);
    EXPECT_EQ(program.Verify("Greeter::Length").verdict, Verdict::kReproduced) << flags << "\n" << program.text();
    EXPECT_EQ(program.Verify("main").verdict, Verdict::kReproduced) << flags << "\n" << program.text();
  }
}

TEST(Verify, RebasesWhereBasesCannotBeForced) {
  for (const char* flags : {"-O0 -g", "-O2 -g", "-O2 -g -no-pie -fno-pie"}) {
    const ReplayedProgram program(kNullName, flags);
    VerifyOptions options;
    options.allow_same_bases = false;
    EXPECT_EQ(program.Verify("Greeter::Length", options).verdict, Verdict::kReproduced) << program.text();
    EXPECT_EQ(program.Verify("main", options).verdict, Verdict::kReproduced) << program.text();
  }
}

TEST(Verify, TellsOneMessageOfAbortFromAnother) {
  const ReplayedProgram program(R"(
#include <cassert>
#include <cstdlib>
#include <cstdio>
struct Account { long balance; char* name; };
__attribute__((noinline)) void Check(Account* account, long most) {
  if (most == 5) std::abort();
  assert(account->balance < most && "balance");
  std::puts(account->name);
}
__attribute__((noinline)) void Book(Account* account, long sum) {
  account->balance += sum;
  Check(account, account->balance > 1000 ? 5 : 100);
  account->balance += 1;
}
int main(int argc, char**) { Account account{argc * 10, nullptr}; Book(&account, 600); }
)");
  EXPECT_EQ(program.report().failure.signal, SIGABRT);
  EXPECT_EQ(program.Verify("Check").verdict, Verdict::kReproduced) << program.text();
  // At the crash 600 has been booked already: called again, Book finds 1210, and Check aborts without a message.
  const FrameVerdict book = program.Verify("Book");
  EXPECT_EQ(book.verdict, Verdict::kDifferentFailure) << program.text();
  EXPECT_THAT(book.note, HasSubstr("SIGABRT in Check"));
}

TEST(Verify, FindsTheSamePlaceBelowLibraryCode) {
  const ReplayedProgram program(R"(
#include <cstring>
#include <cstdlib>
#include <cstdio>
struct Text { char* bytes; long size; };
__attribute__((noinline)) long Measure(Text* text) { long n = std::strlen(text->bytes); return n + text->size; }
__attribute__((noinline)) long Other(Text* text) { long n = std::strlen(text->bytes + 1); return n * text->size; }
__attribute__((noinline)) long Sum(Text* text, bool other) { return (other ? Other(text) : Measure(text)) + 1; }
int main(int argc, char**) { Text text{nullptr, argc}; std::printf("%ld\n", Sum(&text, argc > 3)); }
)");
  EXPECT_EQ(program.Verify("Measure").verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("Sum").verdict, Verdict::kReproduced) << program.text();
}

constexpr char kException[] = R"(
#include <stdexcept>
#include <string>
#include <vector>
#include <cstdio>
struct Shop {
  std::vector<std::string> names;
  __attribute__((noinline)) const std::string& Find(size_t i) { return names.at(i); }
  __attribute__((noinline)) size_t Length(size_t i) {
    try { throw 3; } catch (int) { return Find(i).size(); }
  }
};
int main(int argc, char**) {
  Shop shop{{"a", "b"}};
  std::printf("%zu\n", shop.Length(argc + 4));
}
)";

TEST(Verify, ReproducesAnUncaughtExceptionAlsoFromWithinACatch) {
  ReplayedProgram program(kException);
  ASSERT_EQ(program.report().failure.kind, FailureKind::kException);
  EXPECT_EQ(program.Verify("Shop::Find").verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("Shop::Length").verdict, Verdict::kReproduced) << program.text();
  program.report().failure.exception_what = "another";
  const FrameVerdict verdict = program.Verify("Shop::Find");
  EXPECT_EQ(verdict.verdict, Verdict::kDifferentFailure);
  EXPECT_THAT(verdict.note, HasSubstr("uncaught std::out_of_range: vector::_M_range_check"));
}

// noexcept unwinds before std::terminate is called: the frames below it are only in the copy made at the throw.
TEST(Verify, ReproducesAnExceptionThatNoexceptStopped) {
  for (const bool same_bases : {true, false}) {
    const ReplayedProgram program(R"(
#include <stdexcept>
#include <string>
#include <cstdio>
struct Parser { std::string text; int line; };
__attribute__((noinline)) int Parse(Parser* parser, int at) {
  if (at > 2) throw std::runtime_error("bad line in " + parser->text);
  return parser->line + at;
}
__attribute__((noinline)) int Load(Parser* parser, int at) { return Parse(parser, at + 1) + 1; }
__attribute__((noinline)) int Run(Parser* parser, int at) noexcept { return Load(parser, at + 1) + 1; }
int main(int argc, char**) { Parser parser{"a file with a long name", argc}; std::printf("%d\n", Run(&parser, argc)); }
)");
    ASSERT_EQ(program.report().failure.kind, FailureKind::kException);
    ASSERT_TRUE(program.report().thrown);
    VerifyOptions options;
    options.allow_same_bases = same_bases;
    EXPECT_EQ(program.Verify("Parse", options).verdict, Verdict::kReproduced) << program.text();
    EXPECT_EQ(program.Verify("Load", options).verdict, Verdict::kReproduced) << program.text();
    EXPECT_EQ(program.Verify("Run", options).verdict, Verdict::kReproduced) << program.text();
  }
}

TEST(Verify, ReproducesAnExceptionOfAStaticRuntime) {
  ReplayedProgram program(kException, "-O2 -g -static-libstdc++ -static-libgcc");
  // With this runtime the agent may have seen no more than a SIGABRT.
  program.report().failure.kind = FailureKind::kException;
  program.report().failure.exception_type = "St12out_of_range";
  program.report().failure.exception_what = "vector::_M_range_check: __n (which is 5) >= this->size() (which is 2)";
  EXPECT_EQ(program.Verify("Shop::Find").verdict, Verdict::kReproduced) << program.text();
}

TEST(Verify, ReproducesAThreadsCrash) {
  const ReplayedProgram program(R"(
#include <thread>
#include <vector>
#include <string>
#include <cstdio>
thread_local int visits = 40;
struct Queue { std::vector<std::string> jobs; int* cell = nullptr; };
__attribute__((noinline)) void Store(Queue* queue, int value) { visits += 2; if (visits > 41) *queue->cell = value + visits; }
__attribute__((noinline)) void Work(Queue* queue) {
  queue->jobs.push_back(std::string(64, 'x'));
  Store(queue, queue->jobs.size());
}
int main() { Queue queue; std::thread worker(Work, &queue); worker.join(); }
)",
                                "-O2 -g -pthread");
  EXPECT_EQ(program.Verify("Store").verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("Work").verdict, Verdict::kReproduced) << program.text();
}

TEST(Verify, ReproducesAStackOverflow) {
  const ReplayedProgram program(R"(
#include <cstdio>
struct Node { Node* next; int value; };
__attribute__((noinline)) int Depth(Node* node, int level) {
  volatile char pad[400];
  pad[level % 400] = node->value;
  return Depth(node->next, level + 1) + pad[0];
}
int main(int argc, char**) { Node node{nullptr, argc}; node.next = &node; std::printf("%d\n", Depth(&node, 0)); }
)",
                                "-O1 -g");
  VerifyOptions options;
  options.max_frames = 20;
  const Result<std::vector<FrameVerdict>> verdicts = program.VerifyAll(options);
  ASSERT_TRUE(verdicts) << verdicts.error().message;
  ASSERT_EQ(verdicts->size(), 20u);
  for (const FrameVerdict& verdict : *verdicts) {
    EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << VerdictText(program.report(), *verdicts);
  }
}

// Of frames that wait, and of which some return, side by side as one after the other; only sooner.
// The subject would fail in its own initialisers before a replay could begin.
TEST(Verify, ReproducesAFailureBeforeMain) {
  const ReplayedProgram program(R"(
    struct Registry { int* counts; explicit Registry(int* counts) : counts(counts) {} };
    extern Registry registry;
    __attribute__((noinline)) int Register(int number) { return ++registry.counts[number]; }
    struct Plugin { int count; __attribute__((noinline)) explicit Plugin(int number) : count(Register(number) + 1) {} };
    int counts[2];
    Plugin plugin(1);
    Registry registry(counts);
    int main() { return plugin.count; }
  )");
  EXPECT_EQ(program.Verify("Register").verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("Plugin::Plugin").verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(program.Verify("_GLOBAL__sub_I_").verdict, Verdict::kReproduced) << program.text();
}

TEST(Verify, GivesTheSameVerdictsSideBySide) {
  const ReplayedProgram program(R"(
#include <cstdio>
#include <unistd.h>
struct State { int seen = 0; int* cell = nullptr; };
__attribute__((noinline)) int Walk(State* state, int level) {
  if (level < 4 && state->seen > level) return level;
  state->seen = level + 1;
  if (level == 9) { usleep(300000); return *state->cell; }
  return Walk(state, level + 1) + state->seen;
}
int main() { State state; std::printf("%d\n", Walk(&state, 0)); }
)");
  std::vector<FrameVerdict> verdicts[2];
  std::chrono::duration<double> seconds[2];
  for (const bool side_by_side : {false, true}) {
    VerifyOptions options;
    options.jobs = side_by_side ? 16 : 1;
    const auto start = std::chrono::steady_clock::now();
    const Result<std::vector<FrameVerdict>> result = program.VerifyAll(options);
    seconds[side_by_side] = std::chrono::steady_clock::now() - start;
    ASSERT_TRUE(result) << result.error().message;
    verdicts[side_by_side] = *result;
  }
  ASSERT_EQ(verdicts[0].size(), verdicts[1].size());
  size_t reproduced = 0, returned = 0;
  for (size_t i = 0; i < verdicts[0].size(); ++i) {
    EXPECT_EQ(verdicts[0][i].index, verdicts[1][i].index);
    EXPECT_EQ(verdicts[0][i].verdict, verdicts[1][i].verdict) << verdicts[1][i].note;
    EXPECT_EQ(verdicts[0][i].note, verdicts[1][i].note);
    reproduced += verdicts[1][i].verdict == Verdict::kReproduced;
    returned += verdicts[1][i].verdict == Verdict::kReturned;
  }
  EXPECT_EQ(reproduced, 7u) << VerdictText(program.report(), verdicts[1]);  // six of Walk, and main, whose state is new
  EXPECT_EQ(returned, 4u) << VerdictText(program.report(), verdicts[1]);
  // Seven waits of 0.3 s in the one case, one in the other.
  EXPECT_GT(seconds[0].count(), 2.1);
  EXPECT_LT(seconds[1].count(), seconds[0].count() - 0.9);
}

TEST(Verify, DepthOneUndoesWhatTheFunctionChanged) {
  const ReplayedProgram program(R"(
#include <cstdio>
struct Table { int used = 0; int* cells = nullptr; };
__attribute__((noinline)) void Fill(Table* table, int value) {
  if (table->used == 0) { table->used = 1; *table->cells = value; }
}
int main(int argc, char**) { Table table; Fill(&table, argc); std::printf("%d\n", table.used); }
)",
                                "-O2 -g", {}, "full");
  const FrameVerdict fill = program.Verify("Fill");
  EXPECT_EQ(fill.verdict, Verdict::kReproduced) << program.text();
  EXPECT_EQ(fill.start.depth, 1) << program.text();
}

constexpr char kGate[] = R"(
#include <cstdio>
#include <unistd.h>
struct Gate { volatile int open = 0; int* cell = nullptr; };
__attribute__((noinline)) void Pass(Gate* gate) {
  while (gate->open) WAIT;
  gate->open = 1;
  *gate->cell = 1;
}
int main() { Gate gate; Pass(&gate); }
)";

// What computes for ever has failed; what waits for ever may wait for what is not in the replay.
TEST(Verify, GivesUpOnAFrameThatDoesNotEnd) {
  VerifyOptions options;
  options.seconds_per_frame = 1;
  const ReplayedProgram computing(kGate, "-O2 -g '-DWAIT='");
  const FrameVerdict computed = computing.Verify("Pass", options);
  EXPECT_EQ(computed.verdict, Verdict::kTimedOut) << computing.text();
  EXPECT_EQ(computed.note, "no outcome within 1 s of processor time");
  for (const char* wait : {"-O2 -g '-DWAIT=pause()'", "-O2 -g '-DWAIT=usleep(200000)'"}) {
    const ReplayedProgram waiting(kGate, wait);
    const FrameVerdict waited = waiting.Verify("Pass", options);
    EXPECT_EQ(waited.verdict, Verdict::kWaited) << waiting.text();
    EXPECT_THAT(waited.note, HasSubstr("it waits for something that a replay does not have"));
  }
}

// Nobody looks at a frame for a minute in which nothing can happen.
TEST(Verify, GivesUpSoonOnAWaitThatNothingCanEnd) {
  VerifyOptions options;
  options.seconds_per_frame = 60;
  const ReplayedProgram waiting(kGate, "-O2 -g '-DWAIT=pause()'");
  const FrameVerdict waited = waiting.Verify("Pass", options);
  EXPECT_EQ(waited.verdict, Verdict::kWaited) << waiting.text();
  EXPECT_LT(waited.seconds, 30);
}

TEST(Verify, NeitherWritesFilesNorKeepsNetwork) {
  ReplayedProgram program(R"(
#include <cstdio>
#include <cerrno>
#include <cstdlib>
#include <sys/socket.h>
#include <unistd.h>
#include <fcntl.h>
struct Log { const char* path; int* cell; int runs; };
__attribute__((noinline)) void Save(Log* log) {
  FILE* file = std::fopen(log->path, "w");
  if (!file || std::fputs("saved", file) < 0) std::exit(9);
  std::fclose(file);
  if (log->runs++ > 0) {
    if (socket(AF_INET, SOCK_STREAM, 0) >= 0) std::exit(10);
    if (unlink(log->path) == 0) std::exit(11);
  }
  *log->cell = 1;
}
int main(int, char** argv) { Log log{argv[1], nullptr, 0}; Save(&log); }
)",
                          "-O2 -g", {"/tmp/recrash-verify-writes"});
  program.fixture().Run("echo mine > /tmp/recrash-verify-writes");
  EXPECT_EQ(program.Verify("Save").verdict, Verdict::kReproduced) << program.text();
  program.fixture().Run("grep -q mine /tmp/recrash-verify-writes && rm /tmp/recrash-verify-writes");
}

TEST(Verify, SaysWhyAProgramCannotBeReplayed) {
  ReplayedProgram program(kNullName);
  program.fixture().Run("cd " + program.fixture().folder() +
                        " && echo 'int main() {}' > s.cc && " RECRASH_TEST_CXX
                        " -static s.cc -o static && cp program setuid && chmod u+s setuid");
  VerifyOptions options;
  options.program = program.fixture().path("static");
  EXPECT_THAT(program.Verify("main", options).note, HasSubstr("a statically linked program cannot be replayed"));
  options.program = program.fixture().path("setuid");
  EXPECT_THAT(program.Verify("main", options).note, HasSubstr("set-user-id programs cannot be replayed"));
}

TEST(Verify, ReproducesWhatTheProgramReports) {
  const ReplayedProgram program(R"(
#include <recrash/recrash.h>
#include <cstdio>
struct Ledger { long sum; };
__attribute__((noinline)) void Check(Ledger* ledger) {
  if (ledger->sum < 0) RECRASH_REPORT("negative sum");
  ledger->sum += 1;
}
int main(int argc, char**) { Ledger ledger{-argc * 5}; Check(&ledger); std::printf("%ld\n", ledger.sum); }
)",
                                "-O2 -g -I" RECRASH_TEST_SOURCE_DIRECTORY "/include");
  EXPECT_EQ(program.Verify("Check").verdict, Verdict::kReproduced) << program.text();
}

}  // namespace
}  // namespace recrash
