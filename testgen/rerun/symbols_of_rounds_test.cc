#include "testgen/rerun/symbols_of_rounds.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/process/proc_files.h"
#include "agent/report/maps.h"
#include "agent/report/modules.h"

namespace recrash {
namespace {

// A report of this very program, as far as symbols need one.
Report OfThisProgram() {
  Report report;
  report.process.program = ReadProcLink(getpid(), "exe");
  report.modules = ModulesFromMappings(ParseMaps(ReadProcFile(getpid(), "maps")), report.process.program);
  return report;
}

TEST(SymbolsOfRounds, AreOpenedOnceForTheSameModules) {
  SymbolsOfRounds symbols({});
  const Report report = OfThisProgram();
  const Result<const Symbols*> first = symbols.For(report);
  ASSERT_TRUE(first) << first.error().message;
  const ModuleSet* const files = &(*first)->modules();
  const Result<const Symbols*> again = symbols.For(OfThisProgram());
  ASSERT_TRUE(again);
  EXPECT_EQ(&(*again)->modules(), files);
}

// A library that the program loads by chance, or at another address, would be read at the wrong place.
TEST(SymbolsOfRounds, AreOpenedAnewForOtherModules) {
  SymbolsOfRounds symbols({});
  Report report = OfThisProgram();
  ASSERT_TRUE(symbols.For(report));
  for (Module& module : report.modules)
    if (!module.is_program) module.base = module.base + 4096;
  const Result<const Symbols*> moved = symbols.For(report);
  ASSERT_TRUE(moved);
  EXPECT_EQ((*moved)->modules().modules().back().base, report.modules.back().base);
}

}  // namespace
}  // namespace recrash
