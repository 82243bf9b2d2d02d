#include "testgen/replay/host/input_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agent/report/testing_reports.h"

namespace recrash {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(InputCheck, NamesWhatIsGoneOrHasChanged) {
  TemporaryDirectory folder;
  const std::string path = folder / "in";
  Report report;
  report.inputs = {{{"in"},
                    path,
                    3,
                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                    InputContent::kNotAsked,
                    {}}};
  EXPECT_THAT(InputProblems(report), ElementsAre(Pair(0u, path + " is missing")));
  std::ofstream(path) << "abc";
  EXPECT_THAT(InputProblems(report), IsEmpty());
  std::ofstream(path) << "abd";
  EXPECT_THAT(InputProblems(report), ElementsAre(Pair(0u, path + " has changed since the crash")));
  std::ofstream(path) << "abcd";
  EXPECT_THAT(InputProblems(report), ElementsAre(Pair(0u, path + " has 4 bytes, 3 at the crash")));
  report.inputs[0].content = InputContent::kHeld;  // then nobody asks for the file
  EXPECT_THAT(InputProblems(report), IsEmpty());
}

}  // namespace
}  // namespace recrash
