#include "testgen/explain/code_graph.h"

#include <gtest/gtest.h>

#include <vector>

namespace recrash::explain {
namespace {

//   0: test edi, edi
//   2: je 8
//   4: mov al, 1
//   6: jmp 10
//   8: mov al, 2
//  10: ret
const std::vector<uint8_t> kEither = {0x85, 0xff, 0x74, 0x04, 0xb0, 0x01, 0xeb, 0x02, 0xb0, 0x02, 0xc3};

TEST(CodeGraph, BranchDecidesWhatOneWayAloneComesTo) {
  const CodeGraph graph(kEither, 0x1000);
  EXPECT_TRUE(graph.Decides(0x1002, 0x1004, 0x1004));
  EXPECT_TRUE(graph.Decides(0x1002, 0x1008, 0x1008));
}

TEST(CodeGraph, BranchDoesNotDecideWhatBothWaysComeTo) {
  const CodeGraph graph(kEither, 0x1000);
  EXPECT_FALSE(graph.Decides(0x1002, 0x1004, 0x100a));
  EXPECT_FALSE(graph.Decides(0x1002, 0x1008, 0x100a));
}

//   0: cmp edi, 3
//   3: jae 9
//   5: inc edi
//   7: jmp 0
//   9: ret
TEST(CodeGraph, LoopDecidesItsBodyAndNotItsEnd) {
  const CodeGraph graph(std::vector<uint8_t>{0x83, 0xff, 0x03, 0x73, 0x04, 0xff, 0xc7, 0xeb, 0xf7, 0xc3}, 0x2000);
  EXPECT_TRUE(graph.Decides(0x2003, 0x2005, 0x2005));
  EXPECT_FALSE(graph.Decides(0x2003, 0x2009, 0x2009));
}

TEST(CodeGraph, NothingElseThanABranchDecides) {
  const CodeGraph graph(kEither, 0x1000);
  EXPECT_FALSE(graph.Decides(0x1000, 0x1002, 0x1004));
  EXPECT_FALSE(graph.Decides(0x1002, 0x1004, 0x5000)) << "elsewhere";
}

}  // namespace
}  // namespace recrash::explain
