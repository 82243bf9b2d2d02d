#include "testgen/suite/source_signature.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "agent/base/testing_files.h"

namespace recrash {
namespace {

using testing::HasSubstr;
using testing::Not;

// A crash of /bin/shop in Book, which Sell has called.
Crash Shop() {
  Crash crash;
  crash.report.process.program = "/bin/shop";
  crash.report.failure.signal = SIGSEGV;
  crash.report.signature = std::string(32, 'a');
  Backtrace& backtrace = crash.backtrace;
  backtrace.place.chain = {{"Stock::Book", "stock.cc"}, {"Sell", "sell.cc"}, {"main", "main.cc"}};
  for (const SourceFrame& frame : backtrace.place.chain) {
    Frame& added = backtrace.frames.emplace_back();
    added.function = frame.function;
    added.file = frame.file;
    added.own = true;
  }
  Frame& start = backtrace.frames.emplace_back();  // the C library's _start, linked into the program
  start.function = "_start";
  start.own = true;
  return crash;
}

std::string Digest(const Crash& crash) { return ChainOf(crash.report, crash.backtrace).digest; }

TEST(SourceChain, SaysWhatHappened) {
  const Crash crash = Shop();
  const SourceChain chain = ChainOf(crash.report, crash.backtrace);
  EXPECT_EQ(chain.text, "SIGSEGV in Book at stock.cc");
  EXPECT_EQ(chain.digest.size(), 32u);
}

TEST(SourceChain, IsThatOfAnyBuildAndMachine) {
  Crash other = Shop();
  other.report.process.program = "/home/ada/build-O0/shop (deleted)";
  other.report.failure.address = other.report.failure.pc = {0x1234};
  other.report.failure.abort_message = "another one";
  for (Frame& frame : other.backtrace.frames) frame.line += 7;
  other.backtrace.place.line = 99;
  other.backtrace.place.chain.insert(other.backtrace.place.chain.end(), 2, {"_GLOBAL__sub_I_main.cc", "main.cc"});
  EXPECT_EQ(Digest(other), Digest(Shop()));
}

TEST(SourceChain, IsAnotherWhereSomethingElseHappened) {
  for (const auto change :
       {+[](Crash& crash) { crash.report.failure.signal = SIGFPE; },
        +[](Crash& crash) { crash.report.process.program = "/bin/shopping"; },
        +[](Crash& crash) { crash.backtrace.place.chain[0].function = "Stock::Count"; },
        +[](Crash& crash) { crash.backtrace.place.chain[1].file = "buy.cc"; },
        +[](Crash& crash) { crash.backtrace.place.chain.erase(crash.backtrace.place.chain.begin()); }}) {
    Crash other = Shop();
    change(other);
    EXPECT_NE(Digest(other), Digest(Shop()));
    EXPECT_NE(Digest(other), "");
  }
}

// gcc says "operator()" where clang says "main::$_0::operator()", of which the reader makes this.
TEST(SourceChain, DoesNotTellLambdasOfCompilersApart) {
  Crash clang = Shop(), gcc = Shop();
  clang.backtrace.place.chain[0].function = "main::{lambda}::operator()";
  gcc.backtrace.place.chain[0].function = "operator()";
  EXPECT_EQ(Digest(clang), Digest(gcc));
}

TEST(SourceChain, IsNotOfTheDepthOfARecursion) {
  Crash shallow = Shop(), deep = Shop();
  const SourceFrame inner = shallow.backtrace.place.chain[0];
  for (Crash* crash : {&shallow, &deep})
    crash->backtrace.place.chain.insert(crash->backtrace.place.chain.begin(), crash == &deep ? 40 : 2, inner);
  EXPECT_EQ(Digest(shallow), Digest(deep));
}

// Else crashes that have nothing in common would be one.
TEST(SourceChain, IsNotKnownWithoutDebugInformation) {
  Crash stripped = Shop();
  stripped.backtrace.frames[1].file.clear();
  EXPECT_EQ(Digest(stripped), "");
  Crash empty;
  EXPECT_EQ(Digest(empty), "");
}

class KeptChain : public testing::Test {
 protected:
  KeptChain() { setenv("RECRASH_DIR", store_.path().c_str(), 1); }
  ~KeptChain() override { unsetenv("RECRASH_DIR"); }
  StoreIndex Index() const { return ReadIndex(Fd(open(store_.path().c_str(), O_RDONLY)).get()); }

  TemporaryDirectory store_;
};

TEST_F(KeptChain, IsInTheStoresIndex) {
  Crash crash = Shop();
  crash.path = store_ / "shop-20261119-091024-1.rcr";
  WriteBytes(crash.path, {1});
  crash.report.failure.abort_message = "\x1b[2J\n";
  KeepChain(crash);
  const StoreIndex index = Index();
  EXPECT_EQ(index.GroupOf(crash.report.signature), Digest(crash));
  EXPECT_THAT(index.chains.at(crash.report.signature).text, Not(HasSubstr("\x1b")));
}

// Beside a report that lies elsewhere nothing is written.
TEST_F(KeptChain, IsNotKeptOutsideTheStore) {
  const TemporaryDirectory elsewhere;
  Crash crash = Shop();
  crash.path = elsewhere / "shop-20261119-091024-1.rcr";
  WriteBytes(crash.path, {1});
  KeepChain(crash);
  EXPECT_EQ(elsewhere.names().size(), 1u);
  EXPECT_TRUE(store_.names().empty());
}

}  // namespace
}  // namespace recrash
