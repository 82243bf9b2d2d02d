// What bites in a replay (the list in testgen/replay/README.md): with its remedy a frame reproduces, without it does
// not.
#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/personality.h>

#include <fstream>
#include <sstream>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Reproduces as it is, and does something else without the remedy.
void ExpectNeeded(const ReplayedProgram& program, const std::string& function, const std::string& remedy,
                  Verdict without, VerifyOptions options = {}) {
  options.support_directory = RECRASH_TEST_REMEDIES_DIRECTORY;
  options.seconds_per_frame = 3;
  EXPECT_EQ(program.Verify(function, options).verdict, Verdict::kReproduced) << program.text();
  const LeaveOut left_out(remedy);
  const FrameVerdict verdict = program.Verify(function, options);
  EXPECT_EQ(verdict.verdict, without) << "without " << remedy << ": " << program.text();
}

VerifyOptions Rebased() {
  VerifyOptions options;
  options.allow_same_bases = false;
  return options;
}

// Wrappers that start the program must not become the host of a replay themselves.
TEST(Bites, PreloadDoesNotLeakIntoWhatTheSubjectStarts) {
  const ReplayedProgram program(R"(
#include <cstdlib>
#include <cstdio>
#include <string>
struct Job { std::string command; int* cell = nullptr; };
__attribute__((noinline)) void Start(Job* job) {
  if (std::system(job->command.c_str()) != 0) std::exit(5);
  *job->cell = 1;
}
int main() { Job job{"test -z \"$LD_PRELOAD$RECRASH_PLAN_FD\""}; Start(&job); }
)");
  EXPECT_EQ(program.Verify("Start").verdict, Verdict::kReproduced) << program.text();
}

constexpr char kOverflow[] = R"(
#include <cstdlib>
#include <cstdio>
#include <cstring>
struct Node { Node* next; char text[16]; };
__attribute__((noinline)) long Depth(Node* node, long level) {
  char copy[64];
  if (level > (1 << 20)) level = std::strtol(node->text, nullptr, 10);
  std::snprintf(copy, sizeof copy, "%s", node->text);
  return Depth(node->next, level + 1) + copy[level % 8];
}
int main() { Node node{nullptr, "12"}; node.next = &node; std::printf("%ld\n", Depth(&node, 0)); }
)";

// The loader binds a function on its first call, and needs more stack for it than the innermost frames have left. A fix
// that calls one there would not be seen: the loader overflows in place of the program.
TEST(Bites, FunctionsAreBoundAtStart) {
  const std::string begin = R"(
#include <cstdio>
#include <cstdlib>
struct Node { Node* next; const char* text; };
__attribute__((noinline)) long Depth(Node* node, long level) {
  volatile char pad[64];
  pad[level % 64] = 1;
)";
  const std::string end = R"(
  return Depth(node->next, level + 1) + pad[level % 8];
}
int main() { Node node{nullptr, "12"}; node.next = &node; std::printf("%ld\n", Depth(&node, 0)); }
)";
  constexpr char kLazy[] = "-O1 -g -Wl,-z,lazy";
  ReplayedProgram program(begin + end, kLazy);
  VerifyOptions options;
  options.support_directory = RECRASH_TEST_REMEDIES_DIRECTORY;
  options.max_frames = 12;
  const Result<std::vector<FrameVerdict>> verdicts = program.VerifyAll(options);
  ASSERT_TRUE(verdicts) << verdicts.error().message;
  for (const FrameVerdict& verdict : *verdicts) {
    EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << VerdictText(program.report(), *verdicts);
  }
  // The innermost frames have not even the stack that strtol needs itself.
  options.only = {5};
  options.program = program.Rebuild(begin + "if (level > 9) return std::strtol(node->text, nullptr, 10);" + end, kLazy);
  const auto verdict = [&] {
    const Result<std::vector<FrameVerdict>> fifth = program.VerifyAll(options);
    return fifth ? fifth->at(0).verdict : Verdict::kCannotReplay;
  };
  EXPECT_EQ(verdict(), Verdict::kHarmless);  // it returns, with next to no stack
  const LeaveOut left_out("bind_now");
  EXPECT_EQ(verdict(), Verdict::kReproduced);
}

// The loader's tables are this process's; the recorded ones lead to the recorded loader.
TEST(Bites, BoundTablesStayLive) {
  const ReplayedProgram program(R"(
#include <cstdio>
#include <stdexcept>
struct Parser { int* cell = nullptr; int tries = 0; };
__attribute__((noinline)) void Parse(Parser* parser) {
  if (parser->tries++ > 0) { try { throw std::runtime_error("again"); } catch (const std::exception&) {} }
  *parser->cell = 1;
}
int main() { Parser parser; Parse(&parser); }
)");
  ExpectNeeded(program, "Parse", "got_plt", Verdict::kDifferentFailure, Rebased());
}

// Static thread-local offsets shift by a module that has such storage; a canary changes while memory comes back.
TEST(Bites, TheLibraryHasNeitherThreadLocalsNorStackProtector) {
  std::ifstream file(RECRASH_TEST_SUPPORT_DIRECTORY "/librecrash_replay.so", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  const std::string bytes = text.str();
  ASSERT_GT(bytes.size(), sizeof(Elf64_Ehdr));
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(bytes.data() + header->e_phoff);
  for (int i = 0; i < header->e_phnum; ++i) EXPECT_NE(segments[i].p_type, static_cast<uint32_t>(PT_TLS));
  EXPECT_THAT(bytes, Not(HasSubstr("__stack_chk_fail")));
  EXPECT_THAT(bytes, Not(HasSubstr("libstdc++.so")));
}

constexpr char kPlain[] = R"(
#include <cstdio>
#include <cstdlib>
#include <string>
struct Cell { std::string text; int* number = nullptr; };
__attribute__((noinline)) void Set(Cell* cell) { cell->text += "x"; *cell->number = 1; }
int main() { Cell cell{"a text that is longer than fifteen"}; Set(&cell); }
)";

// With randomisation off here and in the recorded process, all addresses are the same ones, for ever.
TEST(Bites, RandomisationIsTurnedOn) {
  const int before = personality(0xffffffff);
  personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE);
  const ReplayedProgram program(kPlain);
  ExpectNeeded(program, "Set", "randomisation", Verdict::kCannotReplay);
  EXPECT_THAT(program.text(), HasSubstr("the recorded addresses are occupied"));
  personality(static_cast<unsigned long>(before));
  VerifyOptions options;
  EXPECT_EQ(program.Verify("Set", options).verdict, Verdict::kReproduced) << program.text();
}

// Malloc grows its heap at the break, which must be the recorded one, or must not be taken for it.
TEST(Bites, TheBreakIsWhereTheHeapEnds) {
  const ReplayedProgram program(R"(
#include <cstdlib>
#include <cstring>
#include <cstdio>
struct Pool { char* blocks[64]; int used = 0; int* cell = nullptr; };
__attribute__((noinline)) void Grow(Pool* pool) {
  for (int i = 0; i < 20; ++i) std::memset(pool->blocks[pool->used++] = (char*)std::malloc(60000), 1, 60000);
  *pool->cell = 1;
}
int main() { Pool pool; Grow(&pool); }
)");
  VerifyOptions options;
  options.support_directory = RECRASH_TEST_REMEDIES_DIRECTORY;
  EXPECT_EQ(program.Verify("Grow", options).verdict, Verdict::kReproduced) << program.text();
  // Where the kernel refuses to set the break.
  {
    const LeaveOut left_out("brk");
    EXPECT_EQ(program.Verify("Grow", options).verdict, Verdict::kReproduced) << program.text();
  }
  const LeaveOut left_out("brk,noncontiguous");
  EXPECT_EQ(program.Verify("Grow", options).verdict, Verdict::kDifferentFailure) << program.text();
}

// A deeper call than any before the crash needs stack below what was in use.
TEST(Bites, TheStackHasRoomToGrow) {
  const ReplayedProgram program(R"(
#include <cstdio>
#include <cstring>
struct Task { int again = 0; int* cell = nullptr; };
__attribute__((noinline)) int Deep(int n) {
  char pad[4000];
  std::memset(pad, n, sizeof pad);
  return n ? Deep(n - 1) + pad[n] : 0;
}
__attribute__((noinline)) void Run(Task* task) {
  if (task->again++) std::printf("%d", Deep(500));
  *task->cell = 1;
}
int main() { Task task; Run(&task); }
)");
  ExpectNeeded(program, "Run", "stack_room", Verdict::kDifferentFailure);
}

constexpr char kMappedFile[] = R"(
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
struct Input { const char* text; int* cell = nullptr; };
__attribute__((noinline)) void Read(Input* input) { if (input->text[0] == 'k') *input->cell = 1; }
int main(int, char** argv) {
  Input input;
  int file = open(argv[0], O_RDONLY);
  FILE* out = std::fopen("input", "w");
  std::fputs("key\n", out);
  std::fclose(out);
  file = open("input", O_RDONLY);
  input.text = static_cast<const char*>(mmap(nullptr, 4, PROT_READ, MAP_PRIVATE, file, 0));
  Read(&input);
}
)";

TEST(Bites, FilesAreMappedAgain) {
  const ReplayedProgram program(kMappedFile);
  ExpectNeeded(program, "Read", "mapped_files", Verdict::kDifferentFailure);
}

// Two flags beside stale bytes of a pointer are no pointer.
TEST(Bites, WordsThatOnlyLookLikePointersAreLeft) {
  const ReplayedProgram program(R"(
#include <cstdio>
#include <cstdlib>
#include <cstring>
struct Key { unsigned long hash; unsigned long check; int* cell; };
int main(int argc, char**);
__attribute__((noinline)) void Find(Key* key) {
  if ((key->hash ^ 0x5555555555555555ul) != key->check) std::exit(4);
  *key->cell = 1;
}
int main(int argc, char**) {
  Key key{reinterpret_cast<unsigned long>(&main) + 3, 0, nullptr};
  key.check = key.hash ^ 0x5555555555555555ul;
  Find(&key);
  return argc;
}
)");
  ExpectNeeded(program, "Find", "filter", Verdict::kExited, Rebased());
}

// Jump buffers hold addresses mixed with the pointer guard.
TEST(Bites, MangledAddressesAreTranslated) {
  const ReplayedProgram program(R"(
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
struct Loop { std::jmp_buf back; int round = 0; int* cell = nullptr; };
__attribute__((noinline)) void Step(Loop* loop) {
  if (loop->round++ == 1) std::longjmp(loop->back, 1);
  *loop->cell = 1;
}
__attribute__((noinline)) void Again(Loop* loop) { if (setjmp(loop->back) == 0) Step(loop); else { loop->round = 5; Step(loop); } }
int main() { Loop loop; Again(&loop); }
)");
  ExpectNeeded(program, "Step", "mangled", Verdict::kDifferentFailure, Rebased());
}

// Who failed inside malloc held its arena's lock, and with threads about would wait for it.
TEST(Bites, ArenasAreUnlocked) {
  const ReplayedProgram program(R"(
#include <cstdlib>
#include <cstdio>
#include <thread>
#include <unistd.h>
struct Owner { char* block; long size; };
__attribute__((noinline)) void Release(Owner* owner) {
  char* other = static_cast<char*>(std::malloc(owner->size + 3000));
  owner->size += other != nullptr;
  std::free(owner->block);
  std::puts("released");
}
int main() {
  std::thread idle([] { for (;;) pause(); });
  Owner owner{static_cast<char*>(std::malloc(5000)), 5000};
  char* fence = static_cast<char*>(std::malloc(100));
  reinterpret_cast<unsigned long*>(owner.block + 5000)[0] = 0;  // the size of the next block
  owner.size += fence != nullptr;
  Release(&owner);
}
)",
                                "-O1 -g");
  ASSERT_EQ(program.report().failure.signal, SIGABRT);
  ExpectNeeded(program, "Release", "arena_mutexes", Verdict::kWaited);
}

// Tcache_key and the rest of libc's data; without them a double free goes unnoticed.
TEST(Bites, LibrariesDataComesBack) {
  const ReplayedProgram program(R"(
#include <cstdlib>
#include <cstdio>
struct Owner { char* block; int state; };
__attribute__((noinline)) void Close(Owner* owner) { owner->state = 2; std::free(owner->block); std::puts("closed"); }
int main() { Owner owner{static_cast<char*>(std::malloc(40)), 1}; std::free(owner.block); Close(&owner); }
)",
                                "-O1 -g");
  EXPECT_THAT(program.report().failure.abort_message, HasSubstr("double free"));
  ExpectNeeded(program, "Close", "library_data", Verdict::kReturned);
}

// Handlers of exit() are mixed with the pointer guard, and one of them lies in the loader, which always moves.
TEST(Bites, ExitRunsItsHandlers) {
  const ReplayedProgram program(R"(
#include <cstdlib>
#include <cstdio>
struct Tool { int runs = 0; int* cell = nullptr; };
__attribute__((noinline)) void Work(Tool* tool) { if (tool->runs++ == 1) std::exit(7); *tool->cell = 1; }
int main() { Tool tool; std::atexit([] { std::puts("bye"); }); Work(&tool); }
)");
  VerifyOptions options;
  options.support_directory = RECRASH_TEST_REMEDIES_DIRECTORY;
  const FrameVerdict verdict = program.Verify("Work", options);
  EXPECT_EQ(verdict.verdict, Verdict::kExited) << program.text();
  EXPECT_EQ(verdict.note, "exit(7)");
  const LeaveOut left_out("mangled");
  EXPECT_EQ(program.Verify("Work", options).verdict, Verdict::kDifferentFailure) << program.text();
}

// Thread-local variables, tcache, canary come with the recorded thread.
TEST(Bites, TheThreadIsTheRecordedOne) {
  const ReplayedProgram program(R"(
#include <cstdio>
#include <cstdlib>
thread_local int level = 1;
thread_local int* here = nullptr;
__attribute__((noinline)) void Enter(int** cell) { if (level != 5 || here != &level) std::exit(6); **cell = level; }
int main() { int* cell = nullptr; level = 5; here = &level; Enter(&cell); }
)");
  // Its exit(6) then dies as well, in libc's own thread-local variables.
  ExpectNeeded(program, "Enter", "thread", Verdict::kDifferentFailure);
}

// The exception that is the failure itself is not one that is being handled.
TEST(Bites, TheFailuresOwnExceptionIsNotBeingHandled) {
  const ReplayedProgram program(R"(
#include <exception>
#include <stdexcept>
#include <cstdlib>
#include <cstdio>
__attribute__((noinline)) void Check(int value) {
  if (std::current_exception()) std::exit(8);
  if (value == 1) throw std::logic_error("one");
}
int main(int argc, char**) { Check(argc); std::puts("never"); }
)");
  ASSERT_EQ(program.report().failure.kind, FailureKind::kException);
  ExpectNeeded(program, "Check", "exception_state", Verdict::kExited);
}

// Whoever held a lock is not there to release it.
TEST(Bites, LocksOfTheDeadAreStolen) {
  const ReplayedProgram program(R"(
#include <mutex>
#include <shared_mutex>
#include <cstdio>
struct Store { std::mutex mutex; std::shared_mutex readers; int* cell = nullptr; };
__attribute__((noinline)) void Put(Store* store) {
  std::lock_guard<std::mutex> lock(store->mutex);
  std::unique_lock<std::shared_mutex> writing(store->readers);
  *store->cell = 1;
}
int main() { Store store; Put(&store); }
)",
                                "-O2 -g");
  ExpectNeeded(program, "Put", "mutexes", Verdict::kWaited);
}

// At the crash the file has been read up to here.
TEST(Bites, FilesAreOpenAtTheirOffsets) {
  const ReplayedProgram program(R"(
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <fcntl.h>
struct Reader { int file; int lines = 0; int* cell = nullptr; };
__attribute__((noinline)) void Next(Reader* reader) {
  char c;
  if (read(reader->file, &c, 1) != 1) std::exit(4);
  *reader->cell = c;
}
int main() {
  FILE* out = std::fopen("letters", "w");
  std::fputs("abc", out);
  std::fclose(out);
  Reader reader{open("letters", O_RDONLY)};
  char skipped;
  if (read(reader.file, &skipped, 1) == 1) Next(&reader);
}
)");
  ExpectNeeded(program, "Next", "files", Verdict::kExited);
}

// An outer frame reads the input again.
TEST(Bites, InputsAreServedFromTheReport) {
  const ReplayedProgram program(R"(
#include <fstream>
#include <string>
__attribute__((noinline)) int Use(const int* at) { return *at; }
__attribute__((noinline)) int Read(const char* name, const int* limit) {
  std::ifstream in(name);
  std::string word;
  in >> word;
  return Use(word == "end" ? nullptr : limit) + 1;
}
int main(int count, char** words) { return Read(words[1], &count) + 1; }
)",
                                "-O2 -g", {"input"}, "references", "files=embed", "echo end > input");
  program.fixture().Run("rm " + program.fixture().path("input"));
  ExpectNeeded(program, "Read", "inputs", Verdict::kReturned);
}

// The handler of an overflow needs a stack that is not full.
TEST(Bites, TheHandlerHasAStackOfItsOwn) {
  const ReplayedProgram program(kOverflow, "-O1 -g");
  VerifyOptions options;
  options.support_directory = RECRASH_TEST_REMEDIES_DIRECTORY;
  options.max_frames = 3;
  EXPECT_EQ(program.Verify("Depth", options).verdict, Verdict::kReproduced) << program.text();
  const LeaveOut left_out("alternate_stack");
  const FrameVerdict verdict = program.Verify("Depth", options);
  EXPECT_EQ(verdict.verdict, Verdict::kDifferentFailure) << program.text();
  EXPECT_EQ(verdict.note, "killed by SIGSEGV");
}

// The stack at the crash need not be as deep as it was.
TEST(Bites, AShorterRecursionToTheSamePlaceCounts) {
  const ReplayedProgram program(R"(
#include <cstdio>
struct Walk { int left; int* cell = nullptr; };
__attribute__((noinline)) int Down(Walk* walk) {
  volatile char pad[16];
  pad[walk->left & 7] = 1;
  if (--walk->left <= 0) *walk->cell = 1;
  return Down(walk) + pad[2];
}
int main() { Walk walk{5}; std::printf("%d\n", Down(&walk)); }
)",
                                "-O1 -g");
  const Result<std::vector<FrameVerdict>> verdicts = program.VerifyAll();
  ASSERT_TRUE(verdicts) << verdicts.error().message;
  int reproduced = 0;
  for (const FrameVerdict& verdict : *verdicts) reproduced += verdict.verdict == Verdict::kReproduced;
  EXPECT_EQ(reproduced, 6) << VerdictText(program.report(), *verdicts);
}

}  // namespace
}  // namespace recrash
