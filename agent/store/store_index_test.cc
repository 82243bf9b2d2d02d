#include "agent/store/store_index.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "agent/base/testing_files.h"

namespace recrash {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

const std::string kA(32, 'a'), kB(32, 'b'), kC(32, 'c');

StoreIndex Some() {
  StoreIndex index;
  index.reports = {{"app-20261119-091024-1.rcr", {1000, 5, kA}}, {"app-20261119-091024-2.rcr", {2000, -6, ""}}};
  index.gone = {{kA, {7, 1700000000, 1800000000}}};
  index.chains = {{kA, {kC, "SIGSEGV in Book at a b.cc"}}, {kB, {kC, ""}}};
  return index;
}

class Index : public testing::Test {
 protected:
  int folder() const { return folder_fd_.get(); }
  std::string path() const { return folder_ / kIndexName; }

  TemporaryDirectory folder_;
  Fd folder_fd_{open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)};
};

TEST_F(Index, ComesBackFromItsText) { EXPECT_EQ(ParseIndex(IndexText(Some())), Some()); }

TEST_F(Index, ComesBackFromItsFile) {
  {
    Result<LockedIndex> index = LockedIndex::Open(folder(), milliseconds(0));
    ASSERT_TRUE(index);
    index->value() = Some();
    index->Save();
  }
  EXPECT_EQ(ReadIndex(folder()), Some());
  struct stat status;
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  Result<LockedIndex> index = LockedIndex::Open(folder(), milliseconds(0));
  EXPECT_EQ(index->value(), Some());
  index->value().reports.clear();  // shorter now
  index->Save();
  EXPECT_EQ(ReadIndex(folder()), index->value());
}

TEST_F(Index, GroupsByTheChainIfThereIsOne) {
  const StoreIndex index = Some();
  EXPECT_EQ(index.GroupOf(kA), index.GroupOf(kB));  // two builds of one program
  EXPECT_EQ(index.GroupOf(std::string(32, 'd')), std::string(32, 'd'));
  EXPECT_EQ(index.GroupOf(""), "");
}

TEST_F(Index, CountsWhatIsGone) {
  StoreIndex index;
  for (const int64_t second : {30, 10, 20}) index.CountGone(kA, second * 1'000'000'000);
  index.CountGone("", 5);
  EXPECT_EQ(index.gone, (std::map<std::string, GoneReports>{{kA, {3, 10, 30}}}));
}

// Each adds 50, whatever the others do.
TEST_F(Index, LosesNothingBetweenProcesses) {
  for (int i = 0; i < 8; ++i) {
    if (fork() != 0) continue;
    const Fd own(open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY));
    for (int j = 0; j < 50; ++j) {
      Result<LockedIndex> index = LockedIndex::Open(own.get(), milliseconds(60000));
      if (!index) _exit(1);
      index->value().CountGone(kA, 1);
      index->Save();
    }
    _exit(0);
  }
  for (int status; wait(&status) > 0;) EXPECT_EQ(status, 0);
  EXPECT_EQ(ReadIndex(folder()).gone[kA].count, 400u);
}

TEST_F(Index, IsNotWaitedForTooLong) {
  const Result<LockedIndex> first = LockedIndex::Open(folder(), milliseconds(0));
  const Result<LockedIndex> second = LockedIndex::Open(folder(), milliseconds(20));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kTaken);
}

// A link to a file that is not ours to change, a FIFO that nobody reads.
TEST_F(Index, IsNoOtherFile) {
  WriteBytes(folder_ / "victim", {'x'});
  ASSERT_EQ(symlink("victim", path().c_str()), 0);
  alarm(60);
  for (int i = 0; i < 2; ++i) {
    Result<LockedIndex> index = LockedIndex::Open(folder(), milliseconds(0));
    ASSERT_TRUE(index);
    index->value() = Some();
    index->Save();
    EXPECT_EQ(ReadIndex(folder()), StoreIndex());
    unlink(path().c_str());
    ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  }
  alarm(0);
  EXPECT_EQ(ReadBytes(folder_ / "victim").size(), 1u);
}

TEST_F(Index, OfNonsenseIsEmpty) {
  for (const std::string& line :
       {std::string("report 1 2 -"), "report 1 2 " + kA, "report x 2 " + kA + " n", "report 1 2 " + kA + " ../../etc/n",
        "report 1 2 " + std::string(32, 'g') + " n", "gone " + kA + " 1 2", "gone " + kA + " 1 2 99999999999999999999",
        "gone " + kA + " 1 -5 9", "gone " + kA + " 1 5 9223372036854775807", "chain " + kA + " short text",
        std::string("report"), std::string(" "), std::string("other 1")})
    EXPECT_EQ(ParseIndex(line + "\n"), StoreIndex()) << line;
  EXPECT_EQ(ParseIndex("gone " + kA + " 1 2 3"), StoreIndex()) << "a line that was cut";
}

TEST_F(Index, HasNoTextThatATerminalObeys) {
  const StoreIndex index = ParseIndex("chain " + kA + " " + kC + " \x1b[2J" + std::string(5000, 'x') + "\n");
  const std::string& text = index.chains.at(kA).text;
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_LT(text.size(), 1000u);
  StoreIndex hostile;
  hostile.chains[kA] = {kC, "in f\ngone " + kA + " 1 2 3"};
  EXPECT_EQ(ParseIndex(IndexText(hostile)).gone.size(), 0u);
}

TEST_F(Index, SurvivesDamage) {
  const std::string whole = IndexText(Some());
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (int j = 0; j < 3; ++j) text[random() % text.size()] = static_cast<char>(random());
    const StoreIndex index = ParseIndex(text.substr(0, random() % text.size()));
    EXPECT_LE(index.reports.size() + index.gone.size() + index.chains.size(), 8u);
  }
}

TEST_F(Index, GetsTheChainOfAReport) {
  WriteBytes(folder_ / "app-20261119-091024-1.rcr", {1});
  WriteBytes(folder_ / "raw.rcraw", {1});  // has no signature
  KeepChain(folder_ / "app-20261119-091024-1.rcr", kA, {kC, "SIGSEGV in f"});
  KeepChain(folder_ / "raw.rcraw", "", {kC, "SIGSEGV in f"});
  const StoreIndex index = ReadIndex(folder());
  EXPECT_EQ(index.GroupOf(kA), kC);
  EXPECT_EQ(index.GroupOf(index.reports.at("raw.rcraw").signature), kC);
  KeepChain(folder_ / "none.rcr", kB, {kC, ""});
  KeepChain(folder_ / "a\nb.rcr", kB, {kC, ""});
  EXPECT_EQ(ReadIndex(folder()), index);
}

TEST_F(Index, RemembersABoundedNumberOfSignatures) {
  Result<LockedIndex> index = LockedIndex::Open(folder(), milliseconds(0));
  for (int i = 0; i < 3000; ++i) {
    char signature[33];
    snprintf(signature, sizeof signature, "%032x", i);
    index->value().CountGone(signature, int64_t{i} * 1'000'000'000);
    index->value().chains[signature] = {kC, "x"};
  }
  index->value().chains[kA] = {kC, "x"};
  index->value().reports["n"].signature = kA;
  index->Save();
  const StoreIndex back = ReadIndex(folder());
  EXPECT_EQ(back.gone.size(), 2000u);
  EXPECT_EQ(back.gone.begin()->second.first, 1000);
  EXPECT_EQ(back.chains.size(), 2001u);
}

}  // namespace
}  // namespace recrash
