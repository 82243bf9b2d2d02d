// What the collector finds in real programs.
#include "agent/collector/collect.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>

#include "agent/base/fd.h"
#include "agent/base/testing_files.h"
#include "agent/client/testing_program.h"
#include "agent/report/reader.h"
#include "agent/store/signature.h"

namespace recrash {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Collected, ModulesAreWhatWasLoaded) {
  const Report report = Program::Failing("segv").Run().OnlyReport();
  const Module* program = report.program();
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->path, report.process.program);
  EXPECT_EQ(program, report.FindModule(report.failure.pc));
  std::vector<std::string> names;
  for (const Module& module : report.modules) names.push_back(std::filesystem::path(module.path).filename());
  EXPECT_THAT(names, testing::IsSupersetOf({"libc.so.6", "ld-linux-x86-64.so.2", "[vdso]"}));
  for (const Module& module : report.modules) {
    if (module.path.find("libc.so.6") != std::string::npos) EXPECT_EQ(module.build_id.size(), 40u);
  }
}

TEST(Collected, ProcessIsDescribed) {
  const Report report = Program::Failing("segv").With("RECRASH_OPTIONS", "timeout=20").Run().OnlyReport();
  const Process& process = report.process;
  EXPECT_THAT(process.arguments, ElementsAre(process.program, "segv"));
  EXPECT_EQ(process.options, "timeout=20");
  EXPECT_GT(process.stack_limit, 0u);
  EXPECT_LT(process.brk_start, process.brk_end);
  EXPECT_GT(process.crashed_at, int64_t{1700000000} * 1000000000);
  EXPECT_GT(process.collect_ns, 100000u);
  EXPECT_LT(process.collect_ns, 10000000000u);
  EXPECT_THAT(process.working_directory, HasSubstr("recrash-agent-"));
}

TEST(Collected, OpenFilesHaveTheirOffsets) {
  const Report report = Program::Failing("open-file").Run().OnlyReport();
  const auto file = std::ranges::find(report.files, 17, &OpenFile::descriptor);
  ASSERT_NE(file, report.files.end());
  EXPECT_EQ(file->offset, 100u);
  EXPECT_EQ(file->path, report.process.program);
  EXPECT_EQ(file->mode & 0170000, 0100000u);
}

// The stack up to the arguments, the program's data (g_global is 4711 there) and the heap.
TEST(Collected, MemoryHoldsStackAndData) {
  const Report report = Program::Failing("segv").Run().OnlyReport();
  EXPECT_TRUE(report.memory_complete);
  const uint64_t sp = report.failing_thread()->registers.sp();
  const Mapping* stack = report.FindMapping({sp});
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->path, "[stack]");
  EXPECT_TRUE(report.ReadWord(stack->end - 16));
  int found = 0;
  for (const Region& region : report.memory) {
    if (report.FindModule(region.address) != report.program()) continue;
    for (size_t i = 0; i + 4 <= region.bytes.size(); i += 4)
      found += *reinterpret_cast<const int*>(&region.bytes[i]) == 4711;
  }
  EXPECT_GE(found, 1);
}

TEST(Collected, MemoryIsPresentPagesOnly) {
  const Ran ran = Program::Failing("some-pages").Run();
  const Report report = ran.OnlyReport();
  uint8_t byte = 0;
  EXPECT_TRUE(report.Read(ran.address() + 3 * 4096, {&byte, 1}));
  EXPECT_EQ(byte, 'a');
  EXPECT_TRUE(report.Read(ran.address() + 50 * 4096 + 5, {&byte, 1}));
  EXPECT_EQ(byte, 'b');
  EXPECT_FALSE(report.Read(ran.address() + 20 * 4096, {&byte, 1}));
}

// 16 TiB reserved and one page of it used. With or without collector it must not take longer than the page does; where
// the kernel cannot tell which page that is (before 6.7), a sentence says what was left out.
TEST(Collected, MemoryThatIsOnlyReservedTakesNoTime) {
  const Ran collected = Program::Failing("reserved").With("RECRASH_OPTIONS", "timeout=5").Run();
  const Report report = collected.OnlyReport();
  uint8_t byte = 0;
  EXPECT_TRUE(report.Read(collected.address(), {&byte, 1}) || !report.memory_complete);
  const Ran raw = Program::Failing("reserved").With("RECRASH_COLLECTOR", "/nonexistent").Run();
  EXPECT_TRUE(raw.OnlyReport(".rcraw").Read(raw.address(), {&byte, 1}) || !report.memory_complete);
}

TEST(Collected, MemoryBeyondTheLimitIsWhatTheStackLeadsTo) {
  const Ran ran = Program::Failing("much-memory").With("RECRASH_OPTIONS", "memory=8").Run();
  const Report report = ran.OnlyReport();
  EXPECT_FALSE(report.memory_complete);
  uint64_t kept = 0;
  for (const Region& region : report.memory) kept += region.bytes.size();
  EXPECT_LE(kept, 9u << 20);
  std::array<uint8_t, 4> text;
  ASSERT_TRUE(report.Read(ran.address(), text));
  EXPECT_EQ(text, (std::array<uint8_t, 4>{'n', 'e', 'a', 'r'}));
}

// Modules lie elsewhere in each run.
TEST(Collected, SignatureIsThatOfTheCrash) {
  const auto of = [](const std::string& failure) { return Program::Failing(failure).Run().OnlyReport().signature; };
  std::set<std::string> all;
  const auto failures = {"segv", "assert", "free", "overflow", "thread", "throw", "noexcept", "report"};
  for (const char* failure : failures) {
    const std::string first = of(failure);
    EXPECT_EQ(first.size(), 32u) << failure;
    EXPECT_EQ(of(failure), first) << failure;
    EXPECT_TRUE(all.insert(first).second) << failure;
  }
}

// What the client writes by itself is walked when somebody asks.
TEST(Collected, SignatureOfARawReportIsTheSame) {
  for (const char* failure : {"segv", "abort", "thread", "throw", "overflow"}) {
    const Report report = Program::Failing(failure).Run().OnlyReport();
    const Report raw = Program::Failing(failure).With("RECRASH_COLLECTOR", "/nonexistent").Run().OnlyReport(".rcraw");
    EXPECT_EQ(SignatureOf(raw), report.signature) << failure;
  }
}

// Where the client says that the log is, the program may have written something else.
TEST(Collected, LogThatIsNoneIsOneLoss) {
  static abi::CrashRecord record{};
  record.magic = abi::kCrashMagic;
  record.version = abi::kCrashVersion;
  record.size = sizeof record;
  const pid_t child = fork();
  while (child == 0) pause();
  CollectRequest request;
  request.pid = request.tid = child;
  request.record = request.snapshots = {reinterpret_cast<uint64_t>(&record)};
  const Result<Collected> collected = Collect(request);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(collected) << collected.error().message;
  // The record names no process, and no table of notes: these are other losses.
  std::vector<std::string> losses = collected->report.losses;
  std::erase_if(losses, [](const std::string& loss) { return loss.find("entry states") == loss.npos; });
  EXPECT_THAT(losses, ElementsAre(HasSubstr("no entry states: their log is damaged")));
}

// What is said of a folder of reports that many programs and runs share.
class SharedFolder : public testing::Test {
 protected:
  void Crash(const std::string& failure, const std::string& options = "") {
    const Ran ran =
        Program::Failing(failure).With("RECRASH_DIR", folder_.path()).With("RECRASH_OPTIONS", options).Run();
    ASSERT_LT(ran.outcome(), 0);
    const size_t begin = ran.errors().rfind('/') + 1;
    last_ = ran.errors().substr(begin, ran.errors().find('\n', begin) - begin);
  }
  std::vector<std::string> Files(const std::string& suffix) const {
    std::vector<std::string> files = folder_.names();
    std::erase_if(files, [&](const std::string& name) { return !name.ends_with(suffix); });
    return files;
  }

  TemporaryDirectory folder_;
  std::string last_;
};

TEST_F(SharedFolder, KeepsThreeReportsOfASignature) {
  for (int i = 0; i < 5; ++i) Crash("segv");
  EXPECT_EQ(Files(".rcr").size(), 3u);
  EXPECT_EQ(Files(".dmp").size(), 3u);
  Crash("abort");
  EXPECT_EQ(Files(".rcr").size(), 4u);
  Crash("segv", "keep=1");
  EXPECT_EQ(Files(".rcr").size(), 2u);
  for (int i = 0; i < 3; ++i) Crash("segv", "keep=0");
  EXPECT_EQ(Files(".rcr").size(), 5u);
}

// 256 MiB of an old report, nearly all of it a hole.
TEST_F(SharedFolder, KeepsToItsSizeAndAge) {
  const std::string old = "old-20250101-000000-1.rcr", large = "large-20250101-000000-1.rcr";
  for (const std::string& name : {old, large}) WriteBytes(folder_ / name, {0});
  std::filesystem::resize_file(folder_ / large, 256 << 20);
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(folder_ / old, now - std::chrono::hours(24 * 400));
  Crash("segv", "store=0,days=0");
  EXPECT_EQ(Files(".rcr").size(), 3u);
  Crash("segv", "days=0");
  EXPECT_THAT(Files(".rcr"), testing::Not(testing::Contains(large)));
  EXPECT_THAT(Files(".rcr"), testing::Contains(old));
  Crash("segv");
  EXPECT_THAT(Files(".rcr"), testing::Not(testing::Contains(old)));
  Crash("abort", "store=1,days=1,keep=1");
  EXPECT_THAT(Files(".rcr"), testing::Contains(last_));
}

TEST_F(SharedFolder, HasNothingOfWritersThatAreDead) {
  WriteBytes(folder_ / "old-20250101-000000-1.rcr.part", {1});
  WriteBytes(folder_ / "old-20250101-000000-2-c0ffee.rcraw.part", {1});
  WriteBytes(folder_ / "notes.part", {1});
  Crash("segv");
  EXPECT_THAT(Files(".part"), ElementsAre("notes.part"));
}

// Somebody has the index and does not let it go: the report is there all the same, and the program goes on to die.
TEST_F(SharedFolder, IsWrittenToWhileAnotherHoldsTheIndex) {
  const Fd index(open((folder_ / ".recrash-index").c_str(), O_RDWR | O_CREAT, 0600));
  ASSERT_EQ(flock(index.get(), LOCK_EX), 0);
  for (int i = 0; i < 4; ++i) Crash("segv");
  EXPECT_EQ(Files(".rcr").size(), 4u);
  flock(index.get(), LOCK_UN);
  Crash("segv");
  EXPECT_EQ(Files(".rcr").size(), 3u);
}

// The library's prebuilt reader gets as far as the name of the function, given the program's symbols.
TEST(Minidump, NamesTheFailingFunction) {
  const std::string stackwalk = RECRASH_TEST_STACKWALK;
  if (stackwalk.empty()) GTEST_SKIP() << "Breakpad's root was given without minidump_stackwalk";
  const Ran ran = Program::Failing("segv").Run();
  ASSERT_EQ(ran.Files(".dmp").size(), 1u);
  const std::string symbols = ran.Path("symbols");
  // MODULE Linux x86_64 <id> <name>: the reader looks in <name>/<id>/<name>.sym.
  const std::string script = "set -e; bin=$(dirname " + stackwalk + "); mkdir " + symbols + "; cd " + symbols +
                             "; $bin/dump_syms " RECRASH_TEST_FAILURES
                             " > all.sym 2>/dev/null; "
                             "set -- $(head -1 all.sym); mkdir -p $5/$4; mv all.sym $5/$4/$5.sym; " +
                             stackwalk + " " + ran.Path(ran.Files(".dmp").front()) + " " + symbols + " 2>/dev/null";
  FILE* pipe = popen(script.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  for (int c; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_THAT(text, HasSubstr("Crash reason:  SIGSEGV"));
  EXPECT_THAT(text, testing::ContainsRegex("\\(crashed\\)\n 0  failures!.*ReadNull"));
}

// A process that has not failed: all its threads, without what it has marked, and it goes on.
TEST(LiveProcess, IsReportedAndGoesOn) {
  const TemporaryDirectory folder;
  const std::string command = RECRASH_TEST_SURROUNDINGS " waiting > " + folder.path() +
                              "/out & p=$!; until grep -q ready " + folder.path() +
                              "/out; do sleep 0.01; done; " RECRASH_TEST_COLLECTOR " $p $p 0 " + folder.path() +
                              "/reports; kill -0 $p && echo goes on; kill $p";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  for (int c; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  pclose(pipe);
  EXPECT_THAT(text, HasSubstr("\ngoes on\n"));
  const Result<Report> report = ReadReport(text.substr(0, text.find('\n')));
  ASSERT_TRUE(report) << text;
  EXPECT_EQ(report->failure.reason, "recrash dump");
  EXPECT_EQ(report->threads.size(), 4u);
  for (const Thread& thread : report->threads) EXPECT_TRUE(report->ReadWord({thread.registers.sp()}));
  std::string secret = "the password";
  for (char& c : secret) c = static_cast<char>(c ^ 1);
  for (const Region& region : report->memory)
    EXPECT_EQ(std::ranges::search(region.bytes, secret).begin(), region.bytes.end());
  EXPECT_TRUE(
      std::ranges::any_of(report->losses, [](const std::string& loss) { return loss.find("masked") != loss.npos; }));
}

TEST(CommandLine, ThatNoClientGaveIsExplained) {
  FILE* pipe = popen(RECRASH_TEST_COLLECTOR " 2>&1", "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  for (int c; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 2);
  EXPECT_THAT(text, HasSubstr("not by hand"));
}

// Another process's memory at an address that is no crash record.
TEST(CommandLine, WithAWrongRecordWritesNothing) {
  const std::string folder = testing::TempDir() + "recrash-none-" + std::to_string(getpid());
  const std::string command = "sleep 5 & " RECRASH_TEST_COLLECTOR " $! $! 1000 " + folder + " 2>&1; echo $?; kill $!";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  for (int c; (c = fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  pclose(pipe);
  EXPECT_THAT(text, HasSubstr("crash record"));
  EXPECT_THAT(text, HasSubstr("\n1\n"));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace recrash
