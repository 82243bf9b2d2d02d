// One program in several builds: what is a function in one is inlined in another, renamed, or split.
#include "testgen/symbols/source_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/symbols/dwarf/plain_function.h"
#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

TEST(SourceName, IsThatOfAnyCompiler) {
  EXPECT_EQ(SourceName("ns::Tree<int>::insert(int) const"), "ns::Tree::insert");
  EXPECT_EQ(SourceName("main::{lambda(int)#1}::operator()(int) const"), "main::{lambda}::operator()");
  EXPECT_EQ(SourceName("main::$_0::operator()(int) const"), "main::{lambda}::operator()");
  EXPECT_EQ(SourceName("walk(Node*) [clone .part.0]"), "walk");
}
}  // namespace
}  // namespace recrash
