// Entries patched in the test's own process, by profiles that name functions of testdata/functions.cc.
#include "agent/client/watch/patcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/client/watch/testdata/functions.h"
#include "agent/elf/elf_notes.h"
#include "agent/report/testing_reports.h"
#include "shadowstack/entry_hook.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

extern "C" long Sink(const void* what, long size) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (long i = 0; i < size; ++i) hash = (hash ^ static_cast<const uint8_t*>(what)[i]) * 0x100000001b3ull;
  return static_cast<long>(hash >> 20);
}

extern "C" const char __executable_start[];  // the linker's: where address 0 of the file is

namespace recrash::watch {
namespace {

using testing::HasSubstr;

// What recrash_on_entry saw last, and how often it was called.
std::atomic<uint64_t> g_entered;
EntryRegisters g_last;
uint64_t g_stack_word;  // at sp: the return address
bool g_walks;
std::vector<uint64_t> g_walked;

_Unwind_Reason_Code Walk(_Unwind_Context* context, void*) {
  g_walked.push_back(_Unwind_GetIP(context));
  return g_walked.size() < 64 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// As a recorder might leave them: every register that a called function may change has changed.
void SpoilRegisters() {
  asm volatile(
      "fninit\n fld1\n fld1\n fldpi\n"
      "pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n pcmpeqd %%xmm7, %%xmm7\n pcmpeqd %%xmm15, %%xmm15\n"
      "movq $-1, %%rax\n movq %%rax, %%rcx\n movq %%rax, %%rdx\n movq %%rax, %%rsi\n movq %%rax, %%rdi\n"
      "movq %%rax, %%r8\n movq %%rax, %%r9\n movq %%rax, %%r10\n movq %%rax, %%r11\n cmpq %%rax, %%rax\n"
      "fstp %%st(0)\n fstp %%st(0)\n fstp %%st(0)\n"
      :
      :
      : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm7", "xmm15", "cc", "memory");
  if (__builtin_cpu_supports("avx")) asm volatile("vzeroall" : : : "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "memory");
  const unsigned rounding = 0x1f80 | 0x6000;
  asm volatile("ldmxcsr %0" : : "m"(rounding));
}

// A profile in a file of its own, gone with it.
class Profile {
 public:
  explicit Profile(const std::string& text) : path_(folder_ / "profile") { std::ofstream(path_) << text; }

  static std::string Lines(const std::vector<std::string>& names) {
    std::string text = "# recrash profile 1\n";
    for (const std::string& name : names) text += "- - " + name + " - -\n";
    return text;
  }

  PatchCounts Patch() const {
    PatchCounts counts;
    EXPECT_EQ(PatchProfiled(path_.c_str(), &counts), ProfileRead::kRead);
    return counts;
  }

 private:
  TemporaryDirectory folder_;
  std::string path_;
};

Profile Naming(const std::vector<std::string>& names) { return Profile(Profile::Lines(names)); }

// Everything is as compiled again when a test ends.
class Patcher : public testing::Test {
 protected:
  void SetUp() override {
    g_entered = 0;
    g_walks = false;
  }
  void TearDown() override { UnpatchAll(); }
};

uint32_t Refusals(const PatchCounts& counts, const std::string& reason) {
  for (size_t i = 0; i < static_cast<size_t>(Refusal::kCount); ++i)
    if (reason == RefusalText(static_cast<Refusal>(i))) return counts.refused[i];
  ADD_FAILURE() << "no such reason: " << reason;
  return 0;
}

// The status of a child that runs `what`; it ends by _exit(what's result).
template <typename What>
int InChild(What what) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(what());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

extern "C" void recrash_on_entry(const EntryRegisters* at, int32_t*) {
  g_last = *at;
  memcpy(&g_stack_word, reinterpret_cast<const void*>(at->sp), sizeof g_stack_word);
  if (g_walks) {
    g_walked.clear();
    _Unwind_Backtrace(Walk, nullptr);
  }
  g_entered.fetch_add(1);
  SpoilRegisters();
}

namespace {

TEST_F(Patcher, RunsTheRecorderWithTheArgumentsOfTheCall) {
  const Profile profile = Naming({"SumOf"});
  const PatchCounts counts = profile.Patch();
  EXPECT_EQ(counts.wanted, 1u);
  EXPECT_EQ(counts.patched, 1u);
  const int values[] = {1, 2, 3};
  EXPECT_EQ(SumOf(values, 3), 6);
  EXPECT_EQ(g_entered, 1u);
  EXPECT_EQ(g_last.integer[0], reinterpret_cast<uint64_t>(values));
  EXPECT_EQ(static_cast<uint32_t>(g_last.integer[1]), 3u);
  EXPECT_EQ(g_last.entry, reinterpret_cast<uint64_t>(&SumOf));
  // The return address of this call lies at sp: behind the call, in this function.
  const auto here = reinterpret_cast<const uint8_t*>(g_stack_word);
  EXPECT_TRUE(here[-5] == 0xe8 || here[-6] == 0xff);
}

TEST_F(Patcher, LeavesThePatchedFunctionAsItWasWhenAsked) {
  const auto* code = reinterpret_cast<const uint8_t*>(&SumOf);
  const std::vector<uint8_t> before(code, code + 16);
  const Profile profile = Naming({"SumOf", "CallsAtOnce", "Recursive"});
  const int values[] = {1, 2, 3, 4};
  EXPECT_EQ(profile.Patch().patched, 3u);
  EXPECT_EQ(code[0], 0xeb);
  EXPECT_EQ(SumOf(values, 3), 6);
  UnpatchAll();
  EXPECT_EQ(std::vector<uint8_t>(code, code + 16), before);
  const uint64_t entered = g_entered;
  EXPECT_EQ(SumOf(values, 3), 6);
  EXPECT_EQ(CallsAtOnce(values, 4), Sink(values, 4) + 1);
  Recursive(3, values);
  EXPECT_EQ(g_entered, entered);
  // And once more, through the stubs that are there.
  EXPECT_EQ(profile.Patch().patched, 3u);
  EXPECT_EQ(SumOf(values, 3), 6);
  EXPECT_EQ(CallsAtOnce(values, 4), Sink(values, 4) + 1);
  EXPECT_EQ(g_entered, entered + 2);
}

TEST_F(Patcher, KeepsArgumentsAndResultsOfEverySignature) {
  const auto run = [](unsigned seed) {
    std::mt19937_64 random(seed);
    const auto real = [&] { return static_cast<double>(random()) / 1e9; };
    const auto whole = [&] { return static_cast<long>(random()); };
    std::vector<long double> results;
    const Small small = {static_cast<int>(whole()), static_cast<float>(real())};
    const Pair pair = {real(), whole()};
    Large large;
    for (long& word : large.words) word = whole();
    results.push_back(Integers(whole(), static_cast<int>(whole()), static_cast<short>(whole()), 'x',
                               static_cast<unsigned long>(whole()), whole() & 1, whole(), 7));
    results.push_back(Floats(static_cast<float>(real()), real(), static_cast<float>(real()), real(), real(), real(),
                             real(), real(), real()));
    results.push_back(Structs(small, pair, large, large));
    results.push_back(Variadic("ldlddld", whole(), real(), whole(), real(), real(), whole(), real()));
    results.push_back(Variadic("lll", whole(), whole(), whole()));
    results.push_back(X87(static_cast<long double>(real()), 3));
    const Large returned = Returned(5, small);
    for (const long word : returned.words) results.push_back(word);
    results.push_back(CallsAtOnce(&small, sizeof small));
    return results;
  };
  std::vector<std::vector<long double>> plain;
  for (unsigned seed = 0; seed < 200; ++seed) plain.push_back(run(seed));
  ASSERT_EQ(g_entered, 0u);
  const Profile profile = Naming({"Integers", "Floats", "Structs", "Variadic", "X87", "Returned", "CallsAtOnce"});
  EXPECT_EQ(profile.Patch().patched, 7u);
  for (unsigned seed = 0; seed < 200; ++seed) EXPECT_EQ(run(seed), plain[seed]) << seed;
  EXPECT_EQ(g_entered, 200u * 8);
}

// x87 and vector registers with their upper halves, control words, flags, all general registers and the stack pointer:
// the probe finds what its caller has loaded, whether it is patched or not.
TEST_F(Patcher, KeepsEveryRegister) {
  if (!__builtin_cpu_supports("avx")) GTEST_SKIP() << "the probe saves by xsave";
  alignas(64) static uint8_t in[8192], plain[8192], patched[8192];
  std::mt19937_64 random(1);
  const Profile profile = Naming({"RegisterProbe"});
  for (int round = 0; round < 50; ++round) {
    memset(in, 0, sizeof in);
    asm volatile("xsave64 %0" : "=m"(in[192]) : "a"(0xe7), "d"(0) : "memory");
    const bool zmm = __builtin_cpu_supports("avx512f");
    const auto fill = [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) in[i] = static_cast<uint8_t>(random());
    };
    fill(8, 128);
    const uint64_t flags = (random() & 0x8d5) | 0x202;
    memcpy(in, &flags, sizeof flags);
    uint8_t* area = in + 192;
    const uint64_t components = zmm ? 0xe7 : 7;
    memcpy(area + 512, &components, sizeof components);
    for (size_t i = 0; i < 8; ++i) fill(192 + 32 + 16 * i, 192 + 32 + 16 * i + 10);
    fill(192 + 160, 192 + 416);
    fill(192 + 576, 192 + 832);
    if (zmm) fill(192 + 1088, 192 + 2688);
    const uint16_t control = 0x037f | static_cast<uint16_t>((random() & 3) << 10);
    memcpy(area, &control, sizeof control);
    area[4] = 0xff;  // all x87 registers are in use
    const uint32_t mxcsr = 0x1f80 | static_cast<uint32_t>((random() & 3) << 13);
    memcpy(area + 24, &mxcsr, sizeof mxcsr);
    CallRegisterProbe(in, plain);
    g_entered = 0;
    ASSERT_EQ(profile.Patch().patched, 1u);
    CallRegisterProbe(in, patched);
    UnpatchAll();
    EXPECT_EQ(g_entered, 1u);
    EXPECT_EQ(memcmp(plain + 8, patched + 8, 128), 0) << "general registers, round " << round;
    // Arithmetic flags hold nothing at a function's entry; the others are the program's.
    constexpr uint64_t kArithmetic = 0x8d5;
    uint64_t plain_flags = 0, patched_flags = 0;
    memcpy(&plain_flags, plain, sizeof plain_flags);
    memcpy(&patched_flags, patched, sizeof patched_flags);
    EXPECT_EQ(plain_flags | kArithmetic, patched_flags | kArithmetic);
    EXPECT_EQ(memcmp(plain + 192, patched + 192, 8), 0) << "x87 control, status and tag words";
    EXPECT_EQ(memcmp(plain + 192 + 24, patched + 192 + 24, 392), 0) << "mxcsr, x87 or xmm";
    EXPECT_EQ(memcmp(plain + 192 + 576, patched + 192 + 576, 256), 0) << "upper halves of ymm";
    if (zmm) EXPECT_EQ(memcmp(plain + 192 + 1088, patched + 192 + 1088, 1600), 0) << "AVX-512";
    // The probe did see what was loaded: else this compares nothing.
    EXPECT_EQ(memcmp(plain + 8, in + 8, 40), 0);
    EXPECT_EQ(memcmp(plain + 192 + 160, in + 192 + 160, 256), 0);
    for (int i = 0; i < 6; ++i) {
      constexpr int kPlace[] = {48, 40, 32, 24, 64, 72};  // rdi rsi rdx rcx r8 r9
      EXPECT_EQ(memcmp(&g_last.integer[i], in + kPlace[i], 8), 0) << i;
    }
    EXPECT_EQ(memcmp(g_last.vector, in + 192 + 160, sizeof g_last.vector), 0);
  }
}

class Beginnings : public Patcher, public testing::WithParamInterface<int> {};

// Each kind of first instruction does in the stub what it does at the entry.
TEST_P(Beginnings, DoTheSame) {
  const Beginning& beginning = kBeginnings[GetParam()];
  const long values[] = {7, 9};
  std::vector<long> plain;
  for (long n = 1; n < 6; ++n) plain.push_back(beginning.function(n, values));
  const Profile profile = Naming({beginning.name});
  ASSERT_EQ(profile.Patch().patched, 1u) << beginning.name;
  for (long n = 1; n < 6; ++n) {
    g_entered = 0;
    EXPECT_EQ(beginning.function(n, values), plain[static_cast<size_t>(n - 1)]) << beginning.name;
    // A jump back to the entry is a call of its own, as a tail call is.
    EXPECT_EQ(g_entered, std::string(beginning.name) == "BackToEntry" ? static_cast<uint64_t>(n) : 1u)
        << beginning.name;
    EXPECT_EQ(g_last.entry, reinterpret_cast<uint64_t>(beginning.function));
    EXPECT_EQ(g_last.integer[1], reinterpret_cast<uint64_t>(values));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Beginnings, testing::Range(0, kBeginningCount),
                         [](const auto& info) { return std::string(kBeginnings[info.param].name); });

// What cannot be displaced safely stays as it is, and is counted by its reason.
TEST_F(Patcher, RefusesWithTheReason) {
  for (int i = 0; i < kRefusedCount; ++i) {
    const PatchCounts counts = Naming({std::string(kRefused[i].name)}).Patch();
    EXPECT_EQ(counts.patched, 0u) << kRefused[i].name;
    EXPECT_EQ(Refusals(counts, kRefused[i].reason), 1u) << kRefused[i].name;
  }
}

TEST_F(Patcher, RefusesWhatIsNoEntry) {
  const Result<ElfFacts> self = ReadElf("/proc/self/exe");
  ASSERT_TRUE(self);
  ASSERT_FALSE(self->build_id.empty());
  char text[256];
  snprintf(text, sizeof text, "%s 0x1 - - -\n%s 0xffffffffffffffff - - -\n%s 0x7fffffffffff - - -\n",
           self->build_id.c_str(), self->build_id.c_str(), self->build_id.c_str());
  EXPECT_EQ(Refusals(Profile(std::string(text)).Patch(), "no function begins there"), 3u);
}

// In the build that the profile is of the offset counts, and no symbol is asked for.
TEST_F(Patcher, FindsByOffsetInTheSameBuild) {
  const Result<ElfFacts> self = ReadElf("/proc/self/exe");
  ASSERT_TRUE(self);
  const uint64_t offset = reinterpret_cast<uint64_t>(&SumOf) - reinterpret_cast<uint64_t>(__executable_start);
  char text[256];
  snprintf(text, sizeof text, "%s 0x%llx - 12 34\n", self->build_id.c_str(), static_cast<unsigned long long>(offset));
  EXPECT_EQ(Profile(std::string(text)).Patch().patched, 1u);
  const int values[] = {4};
  EXPECT_EQ(SumOf(values, 1), 4);
  EXPECT_EQ(g_entered, 1u);
}

// Of another build only the name is of use.
TEST_F(Patcher, FindsByNameInAnotherBuild) {
  const Profile profile("00112233445566778899 0x4 SumOf 1 2\n0011 0x4 Gone - -\n0011 0x99 - - -\n");
  const PatchCounts counts = profile.Patch();
  EXPECT_EQ(counts.wanted, 3u);
  EXPECT_EQ(counts.patched, 1u);
  EXPECT_EQ(counts.missing, 2u);
}

TEST_F(Patcher, TakesNothingFromAFileThatIsNotThere) {
  PatchCounts counts;
  EXPECT_EQ(PatchProfiled("/nonexistent/profile", &counts), ProfileRead::kNone);
  EXPECT_EQ(PatchProfiled("/dev/null", &counts), ProfileRead::kUnreadable);
  EXPECT_EQ(PatchProfiled("/proc", &counts), ProfileRead::kUnreadable);
}

// Whatever a profile says, only functions that were compiled for it change.
TEST_F(Patcher, SurvivesHostileProfiles) {
  std::mt19937_64 random(7);
  std::string good = Profile::Lines({"SumOf", "Recursive", "Integers"});
  good += std::string(200000, 'x') + "\n- - SumOf\n- 0x1 - - -\nzz 0x1 n - -\n- - n 18446744073709551616 -\n";
  const PatchCounts counts = Profile(good).Patch();
  EXPECT_EQ(counts.patched, 3u);
  EXPECT_EQ(counts.damaged, 4u);
  UnpatchAll();
  const int values[] = {1, 2, 3, 4};
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (int i = 0; i < 20; ++i) text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % text.size() + 1);
    Profile(text).Patch();
    ASSERT_EQ(SumOf(values, 4), 10);
    UnpatchAll();
  }
}

// Patched and taken back, again and again, while eight threads run through it.
TEST_F(Patcher, GoesOnUnderEightThreads) {
  std::atomic<bool> done = false;
  std::atomic<uint64_t> wrong = 0, calls = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const long values[] = {7, 9};
      while (!done) {
        for (int k = 0; k < kBeginningCount; ++k) {
          const std::string name = kBeginnings[k].name;
          if (name != "MovMemory" && name != "PushLong" && name != "VectorRelative" && name != "LeaRelative") continue;
          const long expected = name == "MovMemory" ? 12 : name == "PushLong" ? 4 : name == "LeaRelative" ? 47 : 14;
          if (kBeginnings[k].function(3, values) != expected) ++wrong;
          ++calls;
        }
      }
    });
  }
  const Profile profile = Naming({"MovMemory", "PushLong", "VectorRelative", "LeaRelative"});
  for (int round = 0; round < 200; ++round) {
    EXPECT_EQ(profile.Patch().patched, 4u);
    std::this_thread::yield();
    UnpatchAll();
  }
  profile.Patch();
  const uint64_t entered = g_entered;
  while (g_entered < entered + 1000) std::this_thread::yield();
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(calls, 1000u);
}

// A push of one byte displaces two instructions, and a thread may stand between them.
TEST_F(Patcher, LeavesTwoInstructionsAloneWhileThreadsRun) {
  std::atomic<bool> done = false;
  std::thread thread([&] {
    while (!done) std::this_thread::yield();
  });
  EXPECT_EQ(Refusals(Naming({"PushShort"}).Patch(), "other threads are running"), 1u);
  EXPECT_EQ(Naming({"PushLong"}).Patch().patched, 1u);
  done = true;
  thread.join();
}

// Where memory that was written may not become executable, nothing changes and the program goes on.
TEST_F(Patcher, GoesOnWhereCodeMayNotBeChanged) {
  const int status = InChild([] {
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0) return 77;
    const PatchCounts counts = Naming({"SumOf", "Recursive"}).Patch();
    const int values[] = {1, 2};
    const bool right = counts.patched == 0 && SumOf(values, 2) == 3 && g_entered == 0 &&
                       Refusals(counts, "the system does not let code be changed") == 2;
    return right ? 0 : 1;
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "this kernel has no PR_SET_MDWE";
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Code stays executable and read-only, and of its file: what reads /proc/PID/maps must find the module as before.
TEST_F(Patcher, KeepsCodeUnwritableAndOfItsFile) {
  EXPECT_EQ(Naming({"SumOf"}).Patch().patched, 1u);
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char flags[5] = {};
    ASSERT_EQ(sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, flags), 3);
    EXPECT_FALSE(flags[1] == 'w' && flags[2] == 'x') << line;
    if (reinterpret_cast<uint64_t>(&SumOf) < begin || reinterpret_cast<uint64_t>(&SumOf) >= end) continue;
    found = true;
    EXPECT_STREQ(flags, "r-xp");
    EXPECT_THAT(line, HasSubstr(std::filesystem::read_symlink("/proc/self/exe").string()));
  }
  EXPECT_TRUE(found);
}

__attribute__((noinline)) int CallsThrows(int value, const int* values) {
  const int got = Throws(value, values);
  asm volatile("");
  return got;
}

// From the recorder the stack unwinds through the trampoline to the function's caller.
TEST_F(Patcher, UnwindsFromTheRecorderToTheCaller) {
  EXPECT_EQ(Naming({"Throws"}).Patch().patched, 1u);
  g_walks = true;
  const int values[] = {9, 9, 9, 9};
  CallsThrows(1, values);
  const auto caller = reinterpret_cast<uint64_t>(&CallsThrows);
  const auto in_caller = [&](uint64_t pc) { return pc > caller && pc < caller + 64; };
  EXPECT_TRUE(std::any_of(g_walked.begin(), g_walked.end(), in_caller));
  EXPECT_GT(g_walked.size(), 5u);  // and on to main
}

TEST_F(Patcher, LetsExceptionsPass) {
  EXPECT_EQ(Naming({"Throws"}).Patch().patched, 1u);
  const int values[] = {8, 1, 8, 8};
  EXPECT_THROW(CallsThrows(1, values), int);
  EXPECT_EQ(CallsThrows(2, values), 8);
  EXPECT_EQ(g_entered, 2u);
}

sigjmp_buf g_back;
uint64_t g_fault_pc;

void OnFault(int, siginfo_t*, void* context) {
  g_fault_pc = static_cast<uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  siglongjmp(g_back, 1);
}

// A first instruction that fails does so in the stub; the report must say where that is in the program.
TEST_F(Patcher, TellsThePlaceOfADisplacedInstruction) {
  EXPECT_EQ(Naming({"LoadsAtOnce", "Recursive"}).Patch().patched, 2u);
  struct sigaction action = {}, before = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  if (sigsetjmp(g_back, 1) == 0) {
    LoadsAtOnce(nullptr);
    ADD_FAILURE() << "it should have failed";
  }
  sigaction(SIGSEGV, &before, nullptr);
  const auto entry = reinterpret_cast<uint64_t>(&LoadsAtOnce);
  EXPECT_NE(g_fault_pc, entry);
  EXPECT_EQ(CompiledPlace({g_fault_pc, 1000}).pc, entry);
  EXPECT_EQ(CompiledPlace({g_fault_pc, 1000}).sp, 1000u);
  EXPECT_EQ(CompiledPlace({entry, 1000}).pc, entry);
  EXPECT_EQ(CompiledPlace({0, 0}).pc, 0u);
}

}  // namespace
}  // namespace recrash::watch
