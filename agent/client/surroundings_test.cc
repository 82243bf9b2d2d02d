// Programs that fail where something is used up, forbidden, or there in large numbers: each leaves a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>

#include "agent/client/testing_program.h"
#include "agent/report/reader.h"

namespace recrash {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The first of a hundred threads was waited for while the others ran: 23 s.
TEST(BusyThreads, AreAllStoppedAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const Report report = Program::In("busy-threads").With("RECRASH_OPTIONS", "timeout=60").Run().OnlyReport();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  EXPECT_EQ(report.threads.size(), 101u);
  EXPECT_THAT(report.losses, IsEmpty());
  EXPECT_LT(report.process.collect_ns, 5'000'000'000u);
}

constexpr char kNoCollector[] = "/nonexistent";
constexpr char kByItself[] = "input files and a minidump: the program wrote this report itself, without a collector";
constexpr char kWhy[] = "a report by the collector: no recrash-collector was found (set RECRASH_COLLECTOR)";

// Without a collector the program stops its threads itself.
TEST(BusyThreads, HaveRegistersInARawReport) {
  const Ran ran = Program::In("busy-threads").With("COUNT", "20").With("RECRASH_COLLECTOR", kNoCollector).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  const Report report = ran.OnlyReport(".rcraw");
  EXPECT_THAT(report.losses, ElementsAre(kByItself, kWhy));
  ASSERT_EQ(report.threads.size(), 21u);
  for (const Thread& thread : report.threads) {
    EXPECT_NE(thread.registers.fs_base, 0u);
    EXPECT_TRUE(report.ReadWord({thread.registers.sp()})) << "its stack";
    EXPECT_EQ(thread.registers.fxsave.size(), 512u);
    EXPECT_EQ(thread.name, "surroundings");
  }
}

// Interrupted system calls would be noticed.
TEST(BusyThreads, AreLeftAloneByARawReportOfAProgramThatGoesOn) {
  const Ran ran = Program::In("report-among-threads").With("RECRASH_COLLECTOR", kNoCollector).Run();
  EXPECT_EQ(ran.outcome(), 7);
  EXPECT_THAT(
      ran.OnlyReport(".rcraw").losses,
      ElementsAre(kByItself, "2 threads were not held: they ran on while memory was kept, without registers", kWhy));
}

// The child's failure is over: its parent's threads are not held by a signal that would stay changed.
TEST(BusyThreads, AreLeftAloneAfterAChildHasFailed) {
  const Ran ran = Program::In("report-after-a-failed-child").With("RECRASH_COLLECTOR", kNoCollector).Run();
  EXPECT_EQ(ran.outcome(), 7);
  std::vector<std::string> losses;
  for (const std::string& file : ran.Files(".rcraw")) {
    const Result<Report> report = ReadReport(ran.Path(file));
    ASSERT_TRUE(report);
    if (report->failure.reason == "after a failed child") losses = report->losses;
  }
  EXPECT_THAT(losses, Contains(HasSubstr("2 threads were not held")));
}

TEST(FullDisk, LeavesTheInnermostFrames) {
  for (const char* collector : {kNoCollector, RECRASH_TEST_COLLECTOR}) {
    const Ran ran = Program::In("heap").WithFileSizeLimit(300 << 10).With("RECRASH_COLLECTOR", collector).Run();
    EXPECT_EQ(ran.outcome(), -SIGSEGV);
    const Report report = ran.OnlyReport(collector == kNoCollector ? ".rcraw" : ".rcr");
    EXPECT_TRUE(report.ReadWord({report.failing_thread()->registers.sp()}));
    EXPECT_FALSE(report.memory_complete);
    EXPECT_THAT(report.losses, Contains(HasSubstr("the innermost frames")));
    EXPECT_THAT(ran.Files(".part"), IsEmpty());
  }
}

struct Number {
  const char* surroundings;
  const char* count;
};

void PrintTo(const Number& one, std::ostream* out) { *out << one.count; }

// The time limit is for a machine that does nothing else.
class LargeNumbers : public testing::TestWithParam<Number> {};

INSTANTIATE_TEST_SUITE_P(All, LargeNumbers,
                         testing::Values(Number{"many-threads", "2000"}, Number{"many-modules", "2500"},
                                         Number{"many-mappings", "60000"}, Number{"many-descriptors", "10000"},
                                         Number{"heap", "2048"}),
                         [](const auto& info) {
                           std::string name = info.param.surroundings;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(LargeNumbers, AreReported) {
  const auto& [surroundings, count] = GetParam();
  const Ran ran = Program::In(surroundings)
                      .With("COUNT", count)
                      .With("LIBRARY", RECRASH_TEST_LIBRARY)
                      .With("RECRASH_OPTIONS", "timeout=60")
                      .Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  const Report report = ran.OnlyReport();
  EXPECT_TRUE(report.ReadWord({report.failing_thread()->registers.sp()}));
  if (surroundings == std::string("many-threads")) EXPECT_EQ(report.threads.size(), 2001u);
  if (surroundings == std::string("many-modules")) EXPECT_GT(report.modules.size(), 2500u);
  if (surroundings == std::string("many-mappings")) EXPECT_GT(report.mappings.size(), 60000u);
  if (surroundings == std::string("many-descriptors")) EXPECT_GT(report.files.size(), 10000u);
}

// What is used up in the program is not so in the process that makes the report.
class UsedUp : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, UsedUp,
                         testing::Values("descriptors", "data", "address-space", "file-size", "small-alternate-stack"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(UsedUp, StillLeavesAReport) {
  const Ran ran = Program::In(GetParam()).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport().failure.signal, SIGSEGV) << ran.errors();
}

TEST_P(UsedUp, StillLeavesARawReport) {
  const Ran ran = Program::In(GetParam()).With("RECRASH_COLLECTOR", kNoCollector).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport(".rcraw").failure.signal, SIGSEGV) << ran.errors();
}

void Forbid(std::initializer_list<long> calls) {
  std::vector<sock_filter> filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(125);
}

// A program that was built with its collector is all that has to be shipped.
TEST(CollectorWithin, NeedsNoFile) {
  const Ran ran = Program::Embedding("segv").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport().failure.signal, SIGSEGV) << ran.errors();
  EXPECT_EQ(Program::Embedding("report").Run().OnlyReport().failure.reason, "totals disagree");
}

TEST(CollectorWithin, IsAFileForAMomentWhereMemoryMayNotBeRun) {
  for (const long forbidden : {SYS_memfd_create, SYS_execveat}) {
    const Ran ran = Program::Embedding("segv").After([=] { Forbid({forbidden}); }).Run();
    EXPECT_EQ(ran.outcome(), -SIGSEGV);
    EXPECT_EQ(ran.OnlyReport().failure.signal, SIGSEGV) << ran.errors();
    for (const std::string& name : ran.Files("")) EXPECT_THAT(name, Not(HasSubstr("collector")));
  }
}

// As the default filters of Flatpak do, and more.
TEST(Forbidden, CallsStillLeaveAReportWithAllThreads) {
  const Ran no_ptrace = Program::In("busy-threads").With("COUNT", "3").After([] { Forbid({SYS_ptrace}); }).Run();
  EXPECT_EQ(no_ptrace.outcome(), -SIGSEGV);
  EXPECT_EQ(no_ptrace.OnlyReport(".rcraw").threads.size(), 4u);
  EXPECT_THAT(no_ptrace.errors(), HasSubstr("could not be stopped: ptrace: Operation not permitted"));
}

TEST(Forbidden, CallsThatReadMemoryAreDoneWithout) {
  const Ran ran = Program::In("busy-threads")
                      .With("COUNT", "3")
                      .After([] { Forbid({SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev}); })
                      .Run();
  const Report report = ran.OnlyReport(".rcraw");
  for (const Thread& thread : report.threads) EXPECT_TRUE(report.ReadWord({thread.registers.sp()}));
  EXPECT_GT(report.memory.size(), 10u);
}

// Root is not limited.
void BecomeNobody() {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) return;
  if (chown(".", kNobody, kNobody) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(125);
}

// Where nothing may be started, because no memory may be had for it.
TEST(Data, UsedUpLeavesARawReport) {
  const Ran ran = Program::In("no-data").Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(ran.OnlyReport(".rcraw").failure.signal, SIGSEGV) << ran.errors();
}

TEST(AlignmentCheck, IsOffInTheClient) {
  const Ran ran = Program::In("alignment-check").Run();
  EXPECT_EQ(ran.outcome(), -SIGBUS);
  EXPECT_EQ(ran.OnlyReport().failure.code, BUS_ADRALN);
}

TEST(Processes, ThatMayNotBeStartedAreDoneWithout) {
  const Ran ran = Program::In("processes").After(BecomeNobody).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_THAT(ran.errors(), HasSubstr("could not be started (errno 11)"));
  EXPECT_EQ(ran.OnlyReport(".rcraw").failure.signal, SIGSEGV);
  // Then the program has to go beyond its soft limit itself, for a moment.
  const Ran limited = Program::In("processes")
                          .After([] {
                            const rlimit files = {512, RLIM_INFINITY};
                            if (setrlimit(RLIMIT_FSIZE, &files) != 0) _exit(125);
                            BecomeNobody();
                          })
                          .Run();
  EXPECT_EQ(limited.OnlyReport(".rcraw").failure.signal, SIGSEGV) << limited.errors();
}

// A control group with a limit of memory, which the program joins.
class Group {
 public:
  explicit Group(uint64_t mebibytes) {
    for (const auto& [root, limit] :
         {std::pair("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), std::pair("/sys/fs/cgroup", "memory.max")}) {
      path_ = std::string(root) + "/recrash-test-" + std::to_string(getpid());
      if (access(root, W_OK) != 0 || mkdir(path_.c_str(), 0700) != 0) continue;
      std::ofstream file(path_ + "/" + limit);
      if (is_there_ = static_cast<bool>(file << (mebibytes << 20) << std::flush); is_there_) return;
      rmdir(path_.c_str());
    }
  }
  ~Group() {
    for (int i = 0; is_there_ && rmdir(path_.c_str()) != 0 && i < 100; ++i) usleep(10000);
  }
  bool is_there() const { return is_there_; }
  std::function<void()> Join() const {
    return [path = path_ + "/cgroup.procs"] { std::ofstream(path) << getpid() << std::flush; };
  }

 private:
  std::string path_;
  bool is_there_ = false;
};

void ExpectItsHeap(const Report& report) {
  EXPECT_EQ(report.failure.signal, SIGSEGV);
  uint64_t kept = 0;
  for (const Region& region : report.memory) kept += region.bytes.size();
  EXPECT_GT(kept, uint64_t{100} << 20);
  EXPECT_TRUE(report.memory_complete);
}

// The kernel ended the program, which had exit status 137 then, and there was no report. How much room the collector
// needs beside the heap depends on the disk.
TEST(MemoryOfAContainer, NearlyUsedUpIsStillInTheReport) {
  for (uint64_t mebibytes = 115; mebibytes <= 140; mebibytes += 5) {
    const Group group(mebibytes);
    if (!group.is_there()) GTEST_SKIP() << "no control group can be made here";
    const Ran ran = Program::In("heap").With("RECRASH_OPTIONS", "memory=200,timeout=60").After(group.Join()).Run();
    EXPECT_EQ(ran.outcome(), -SIGSEGV) << mebibytes;
    if (ran.errors().find("raw report in") == std::string::npos) return ExpectItsHeap(ran.OnlyReport());
  }
  ADD_FAILURE() << "no collector had room for its report";
}

// Where even the collector finds no room, it has to go, and not the program. How much the kernel counts for a process
// differs a little from run to run: so the limits go up from where the heap itself has no room.
TEST(MemoryOfAContainer, UsedUpIsTakenFromTheCollector) {
  int raw = 0;
  for (uint64_t mebibytes = 103; mebibytes < 112; ++mebibytes) {
    const Group group(mebibytes);
    if (!group.is_there()) GTEST_SKIP() << "no control group can be made here";
    const Ran ran = Program::In("heap").After(group.Join()).Run();
    if (ran.output().empty()) continue;  // it came to no failure
    EXPECT_EQ(ran.outcome(), -SIGSEGV) << mebibytes;
    if (ran.errors().find("was killed by signal 9; raw report in") == std::string::npos) break;
    EXPECT_EQ(ran.OnlyReport(".rcraw").failure.signal, SIGSEGV);
    ++raw;
  }
  EXPECT_GT(raw, 0);
}

TEST(AddressSpace, ThatHoldsTheHeapOnceIsEnough) {
  ExpectItsHeap(
      Program::In("heap-and-little-more").With("RECRASH_OPTIONS", "memory=200,timeout=60").Run().OnlyReport());
}

// The collector was a child like others.
TEST(Children, OfOursAreNoneOfTheProgram) {
  EXPECT_EQ(Program::In("counting-children").Run().output(), "0 0 none\n");
  EXPECT_EQ(Program::In("counting-children").With("RECRASH_COLLECTOR", kNoCollector).Run().output(), "0 0 none\n");
  EXPECT_EQ(Program::In("waiting-for-children").Run().output(), "0\n");
}

}  // namespace
}  // namespace recrash
