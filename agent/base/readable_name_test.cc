#include "agent/base/readable_name.h"

#include <gtest/gtest.h>

#include <csignal>

namespace recrash {
namespace {

TEST(ReadableName, IsDemangledWhereItIsMangled) {
  EXPECT_EQ(Demangle("_ZN4Tree6insertEi"), "Tree::insert(int)");
  EXPECT_EQ(Demangle("_ZL3foov.llvm.1234567"), "foo()");
  EXPECT_EQ(Demangle("i"), "i");  // a function of C, not the type int
  EXPECT_EQ(Demangle("_Zgarbage"), "_Zgarbage");
  EXPECT_EQ(DemangleType("St8bad_cast"), "std::bad_cast");
  EXPECT_EQ(DemangleType("?"), "?");
}

TEST(ReadableName, OfASignalIsItsMacro) {
  EXPECT_EQ(SignalName(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(SignalName(41), "signal 41");
}

}  // namespace
}  // namespace recrash
