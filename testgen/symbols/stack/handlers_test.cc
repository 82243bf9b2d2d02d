// What callers catch, in programs of both compilers.
#include "testgen/symbols/stack/handlers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kProgram[] = R"(
#include <stdexcept>
#include <string>
#include <cstdio>
#include <cstring>
#define NOINLINE __attribute__((noinline))
struct Problem : std::runtime_error { using runtime_error::runtime_error; };
namespace { struct Local { int code; }; }
int* volatile bad;
volatile int sink;
NOINLINE int Crash(int k) { if (k == 77) throw Problem("k"); if (k == 78) throw Local{k}; return *bad + k; }
NOINLINE int Cleans(int k) { std::string text(200 + k, 'x'); int r = Crash(k); sink = text.size(); return r; }
NOINLINE int CatchesOwn(int k) { try { return Cleans(k) + 1; } catch (const Problem&) { return 1; } }
NOINLINE int CatchesBase(int k) { try { return Cleans(k) + 1; } catch (const std::exception&) { return 1; } }
NOINLINE int CatchesLocal(int k) { try { return Cleans(k) + 1; } catch (Local& l) { return l.code; } catch (const char*) { return 1; } }
NOINLINE int CatchesAll(int k) { try { return Cleans(k) + 1; } catch (...) { return 1; } }
NOINLINE int Rethrows(int k) { try { return Cleans(k) + 1; } catch (...) { sink = 1; throw; } }
NOINLINE int Promises(int k) noexcept { return Cleans(k) + 1; }
NOINLINE void Says(const char* what) { puts(what); sink = 2; }
NOINLINE int Nothing(int k) { return Cleans(k) + 1; }
int main(int argc, char** argv) {
  int (*all[])(int) = {CatchesOwn, CatchesBase, CatchesLocal, CatchesAll, Rethrows, Promises, Nothing};
  const char* names[] = {"own", "base", "local", "all", "rethrow", "noexcept", "nothing"};
  for (int i = 0; i < 7; ++i) if (!strcmp(argv[1], names[i])) {
    try { return all[i](argc); } catch (const std::logic_error& e) { puts(e.what()); }
  }
  return 0;
}
)";

struct Build {
  const char* name;
  const char* compiler;  // null: the tests' clang
  const char* flags;
};

class Handling : public testing::TestWithParam<Build> {
 protected:
  Handling() : fixture_(kProgram, GetParam().compiler ? "-O0" : GetParam().flags) {
    if (!GetParam().compiler) return;
    fixture_.Write("program.cpp", kProgram);
    fixture_.Run(std::string(GetParam().compiler) + " " + GetParam().flags + " program.cpp -o program");
  }

  // What callers of Crash catch.
  std::vector<std::string> CaughtOfCrash(const std::string& way) const {
    const Backtrace backtrace = MustRead(fixture_.Crash({way}));
    return FrameOf(backtrace, "Crash").caught;
  }

  const Fixture& fixture() const { return fixture_; }

 private:
  Fixture fixture_;
};

INSTANTIATE_TEST_SUITE_P(Builds, Handling,
                         testing::Values(Build{"ClangO2", nullptr, "-O2 -g"}, Build{"ClangO0", nullptr, "-O0 -g"},
                                         Build{"ClangNoPie", nullptr, "-O2 -g -fno-pie -no-pie"},
                                         Build{"ClangStatic", nullptr, "-O2 -g -static-libstdc++ -static-libgcc"},
                                         Build{"GccO2", "g++", "-O2 -g"}, Build{"GccO0", "g++", "-O0 -g"},
                                         Build{"GccNoPie", "g++", "-O2 -g -fno-pie -no-pie"},
                                         Build{"GccNoPlt", "g++", "-O2 -g -fno-plt"}),
                         [](const auto& info) { return info.param.name; });

constexpr char kLogicError[] = "St11logic_error";  // of main

TEST_P(Handling, IsReadFromTheTables) {
  EXPECT_THAT(CaughtOfCrash("own"), ElementsAre(kLogicError, "7Problem"));
  EXPECT_THAT(CaughtOfCrash("base"), ElementsAre(kLogicError, "St9exception"));
  EXPECT_THAT(CaughtOfCrash("local"), ElementsAre(kLogicError, "N12_GLOBAL__N_15LocalE", "PKc"));
  EXPECT_THAT(CaughtOfCrash("all"), ElementsAre(kLogicError, ""));
  EXPECT_THAT(CaughtOfCrash("nothing"), ElementsAre(kLogicError));
}

TEST_P(Handling, ThatThrowsAgainDoesNotCount) { EXPECT_THAT(CaughtOfCrash("rethrow"), ElementsAre(kLogicError)); }

// main's handler is never reached.
TEST_P(Handling, EndsWhereNothingMayBeThrown) { EXPECT_THAT(CaughtOfCrash("noexcept"), IsEmpty()); }

// To a function that is given by its address; through a table of the linker, to one that a library has.
TEST_P(Handling, CallsAreFound) {
  const Report report = fixture().Crash({"own"});
  const Result<Symbols> symbols = Symbols::Open(report, {});
  ASSERT_TRUE(symbols);
  HandlerReader reader(symbols->modules());
  const auto entry = [&](const std::string& name) {
    for (const Module& module : report.modules) {
      LoadedModule* loaded = symbols->modules().Find(module.base);
      const std::vector<uint64_t> found = loaded ? loaded->names->FunctionsNamed(name) : std::vector<uint64_t>();
      if (!found.empty()) return TargetAddress{found.front() + loaded->bias()};
    }
    return TargetAddress{};
  };
  const TargetAddress says = entry("_Z4SaysPKc"), puts = entry("puts"), cleans = entry("_Z6Cleansi");
  ASSERT_TRUE(says.value != 0 && puts.value != 0 && cleans.value != 0);
  EXPECT_EQ(reader.CallsIn(says, {puts}).size(), 1u);
  EXPECT_EQ(reader.CallsIn(entry("_Z7Nothingi"), {cleans}).size(), 1u);
  EXPECT_THAT(reader.CallsIn(says, {cleans}), IsEmpty());
}

}  // namespace
}  // namespace recrash
