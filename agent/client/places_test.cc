// Folders and files that another user can have prepared: a report goes into none of them, and none of them is run.
//
// Another user is root's uid 65534 here; whoever is not root cannot become another user, and tests what needs none.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/client/testing_program.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t kOther = 65534;

std::string TextOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// All that the files of a folder hold, whoever they belong to.
std::string TextsIn(const fs::path& folder, uid_t owner) {
  std::string texts;
  for (const auto& entry : fs::directory_iterator(folder)) {
    struct stat status;
    if (lstat(entry.path().c_str(), &status) == 0 && status.st_uid == owner && S_ISREG(status.st_mode))
      texts += TextOf(entry.path());
  }
  return texts;
}

class Places : public testing::Test {
 protected:
  Places() {
    std::string folder = testing::TempDir() + "recrash-places-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) ADD_FAILURE() << folder << ": cannot be made";
    folder_ = folder;
    fs::permissions(folder_, fs::perms(0755));
  }
  ~Places() override { fs::remove_all(folder_); }

  // A folder in the test's own.
  std::string Folder(const std::string& name, mode_t mode, uid_t owner = getuid()) {
    const std::string path = folder_ / name;
    fs::create_directory(path);
    EXPECT_EQ(chown(path.c_str(), owner, owner), 0);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  fs::path folder_;
};

class PlacesOfOthers : public Places {
 protected:
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "only root can become another user";
  }
};

Program WithoutCollector() { return Program::Failing("segv").With("RECRASH_COLLECTOR", "/nonexistent"); }

std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) names.push_back(entry.path().filename());
  return names;
}

using DefaultPlaces = Places;

// A service often has no home, or one that it may not write to.
TEST_F(DefaultPlaces, AreTriedOneAfterTheOther) {
  const std::string home = Folder("home", 0700);
  for (const Program& program : {Program::Failing("segv"), WithoutCollector()}) {
    Program chained = program;
    chained.Without("RECRASH_DIR").With("XDG_STATE_HOME", "/proc/nowhere").With("HOME", home);
    EXPECT_THAT(chained.Run().errors(), HasSubstr("report in " + home + "/.local/state/recrash/"));
  }
  EXPECT_GE(NamesIn(home + "/.local/state/recrash").size(), 2u);
}

TEST_F(PlacesOfOthers, AreNoneOfTheDefaultPlaces) {
  const std::string home = Folder("home", 0700), others = Folder("others", 0777, kOther);
  const Ran ran =
      Program::Failing("segv").Without("RECRASH_DIR").With("XDG_STATE_HOME", others).With("HOME", home).Run();
  EXPECT_THAT(ran.errors(), HasSubstr("report in " + home));
  EXPECT_TRUE(TextsIn(others + "/recrash", getuid()).empty());
}

// As another user: files of every name that a raw report of this process may have within the next seconds.
void SquatNames(const std::string& folder) {
  if (seteuid(kOther) != 0) _exit(124);
  for (time_t second = time(nullptr); second < time(nullptr) + 10; ++second) {
    tm utc = {};
    char text[64];
    gmtime_r(&second, &utc);
    strftime(text, sizeof text, "%Y%m%d-%H%M%S", &utc);
    const std::string name = folder + "/failures-" + text + "-" + std::to_string(getpid()) + ".rcraw";
    for (const char* suffix : {"", ".part"}) close(open((name + suffix).c_str(), O_CREAT | O_WRONLY, 0666));
  }
  if (seteuid(0) != 0) _exit(124);
}

TEST_F(PlacesOfOthers, HaveNoMemoryOfOursInTheirFiles) {
  const std::string shared = Folder("shared", 01777);
  const Ran ran = WithoutCollector().With("RECRASH_DIR", shared).After([&] { SquatNames(shared); }).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_EQ(TextsIn(shared, kOther).size(), 0u);
  EXPECT_THAT(TextsIn(shared, 0), HasSubstr("RCSHRAW1")) << "a sticky folder is good enough" << ran.errors();
}

TEST_F(PlacesOfOthers, GetNoReport) {
  for (const bool with_collector : {false, true}) {
    const std::string theirs = Folder("theirs", 0777, kOther);
    Program program = with_collector ? Program::Failing("segv") : WithoutCollector();
    const Ran ran = program.With("RECRASH_DIR", theirs).After([&] { SquatNames(theirs); }).Run();
    EXPECT_EQ(ran.outcome(), -SIGSEGV);
    EXPECT_EQ(TextsIn(theirs, kOther).size(), 0u);
    EXPECT_EQ(TextsIn(theirs, 0).size(), 0u);
    EXPECT_THAT(ran.errors(), HasSubstr("nor could a raw report be written to " + theirs));
    EXPECT_THAT(ran.errors(), HasSubstr("belongs to another user")) << ran.errors();
  }
}

TEST_F(PlacesOfOthers, AreNotReachedByTheirLinks) {
  const std::string ours = Folder("ours", 0700);
  const std::string link = folder_ / "link";
  fs::create_directory_symlink(ours, link);
  EXPECT_THAT(WithoutCollector().With("RECRASH_DIR", link).Run().errors(), HasSubstr("raw report in"));
  ASSERT_EQ(lchown(link.c_str(), kOther, kOther), 0);
  EXPECT_THAT(WithoutCollector().With("RECRASH_DIR", link).Run().errors(), HasSubstr("belongs to another user"));
  EXPECT_THAT(Program::Failing("segv").With("RECRASH_DIR", link).Run().errors(), HasSubstr("belongs to another user"));
}

// Who may rename a folder above can put another in its place at any time.
TEST_F(PlacesOfOthers, AreNotAboveTheFolderOfAReport) {
  const std::string theirs = Folder("theirs", 0755, kOther);
  const std::string ours = Folder("theirs/ours", 0700);
  const std::string link = folder_ / "link";
  fs::create_directory_symlink(ours, link);
  for (const std::string& folder : {ours, ours + "/new/folder", link}) {
    for (Program program : {WithoutCollector(), Program::Failing("segv")}) {
      const Ran ran = program.With("RECRASH_DIR", folder).Run();
      EXPECT_THAT(ran.errors(), HasSubstr("lies below a folder or link of another user")) << folder;
    }
    EXPECT_TRUE(TextsIn(ours, 0).empty());
  }
}

// A user below a folder of root's, and below one that is sticky. And root below neither.
TEST_F(PlacesOfOthers, AreTheirOwnForThem) {
  const auto as_other = [](Program program) {
    return program
        .After([] {
          if (setuid(kOther) != 0) _exit(124);
        })
        .Run();
  };
  Folder("roots", 0755);
  Folder("shared", 01777);
  for (const char* name : {"roots/mine", "shared/mine"}) {
    const std::string mine = Folder(name, 0700, kOther);
    EXPECT_THAT(as_other(WithoutCollector().With("RECRASH_DIR", mine)).errors(), HasSubstr("raw report in " + mine));
    EXPECT_THAT(as_other(WithoutCollector().With("RECRASH_DIR", Folder(name + std::string("/roots"), 0755))).errors(),
                HasSubstr("nor could a raw report be written to " + mine + "/roots"));
  }
  const std::string third = Folder("third", 0755, 65533);
  const std::string mine = Folder("third/mine", 0700, kOther);
  EXPECT_THAT(as_other(WithoutCollector().With("RECRASH_DIR", mine)).errors(),
              HasSubstr("folder or link of another user"));
}

TEST_F(Places, BelowOneThatOthersMayWriteToGetNoReport) {
  Folder("open", 0777);
  const std::string ours = Folder("open/ours", 0700);
  for (Program program : {WithoutCollector(), Program::Failing("segv")}) {
    const Ran ran = program.With("RECRASH_DIR", ours).Run();
    EXPECT_THAT(ran.errors(), HasSubstr("lies below a folder that may be changed by others"));
    EXPECT_TRUE(fs::is_empty(ours));
  }
  ASSERT_EQ(chmod((folder_ / "open").c_str(), 01777), 0);
  EXPECT_THAT(WithoutCollector().With("RECRASH_DIR", ours).Run().errors(), HasSubstr("raw report in " + ours));
}

// By whoever: the group is that of nobody.
TEST_F(Places, ThatOthersMayWriteToGetNoReport) {
  const std::string open = Folder("open", 0777);
  for (Program program : {WithoutCollector(), Program::Failing("segv")}) {
    const Ran ran = program.With("RECRASH_DIR", open).Run();
    EXPECT_THAT(ran.errors(), HasSubstr("may be changed by others"));
    EXPECT_TRUE(fs::is_empty(open));
  }
}

// With umask 002, as many systems have it, where each user has a group of the same number.
TEST_F(Places, OfTheUsersOwnGroupAreTheirOwn) {
  if (getuid() != getgid()) GTEST_SKIP() << "this user has no group of the same number";
  const Ran ran = WithoutCollector().With("RECRASH_DIR", Folder("group", 0775)).Run();
  EXPECT_THAT(ran.errors(), HasSubstr("raw report in"));
}

TEST_F(Places, OfRawReportsHaveNamesThatNobodyCanTell) {
  const std::string folder = Folder("twice", 0700);
  WithoutCollector().With("RECRASH_DIR", folder).Run();
  for (const auto& entry : fs::directory_iterator(folder))
    EXPECT_THAT(entry.path().filename(), testing::MatchesRegex("failures-[0-9]+-[0-9]+-[0-9]+-[0-9a-f]+[.]rcraw"));
}

// Names of programs and folders are anybody's.
TEST_F(Places, SayNothingThatATerminalObeys) {
  const std::string program = Folder("\x1b]0;pwn\x07", 0755) + "/\x1b[2J\nfailures";
  fs::copy_file(RECRASH_TEST_FAILURES, program);
  const Ran ran = WithoutCollector().At(program).With("RECRASH_DIR", Folder("\x1b[1m", 0700)).Run();
  EXPECT_EQ(std::ranges::count(ran.errors(), '\x1b'), 0) << ran.errors();
  EXPECT_EQ(std::ranges::count(ran.errors(), '\n'), 1) << ran.errors();
  EXPECT_THAT(ran.errors(), HasSubstr(" in \\x1b[2J\\nfailures (process "));
  EXPECT_THAT(ran.errors(), HasSubstr("raw report in " + folder_.string() + "/\\x1b[1m/"));
}

// A copy of the program in a folder of its own, and beside it a collector that leaves a trace instead of a report.
class CollectorBeside : public Places {
 protected:
  CollectorBeside() : shipped_(Folder("shipped", 0755)), out_(Folder("out", 0755)) {
    fs::copy_file(RECRASH_TEST_FAILURES, program());
    std::ofstream(collector()) << "#!/bin/sh\necho ran > " << out_ << "/trace\nexit 3\n";
    fs::permissions(collector(), fs::perms(0755));
  }

  std::string program() const { return shipped_ + "/failures"; }
  std::string collector() const { return shipped_ + "/recrash-collector"; }
  Program Shipped() const { return Program::Failing("segv").At(program()).Without("RECRASH_COLLECTOR"); }
  Program Named() const { return Shipped().With("RECRASH_COLLECTOR", collector()); }
  bool HasRun() const { return fs::exists(out_ + "/trace"); }

  // Neither found beside the program nor named. Another one may be where recrash is installed.
  void ExpectRefused(const std::string& why) {
    EXPECT_EQ(Shipped().Run().outcome(), -SIGSEGV);
    EXPECT_FALSE(HasRun());
    const Ran named = Named().Run();
    EXPECT_FALSE(HasRun());
    EXPECT_THAT(named.errors(), HasSubstr(collector() + " is not run: it " + why + "; raw report in "));
    EXPECT_EQ(std::ranges::count(named.errors(), '\n'), 1) << named.errors();
    EXPECT_EQ(named.OnlyReport(".rcraw").failure.signal, SIGSEGV);
  }

  std::string shipped_;
  std::string out_;
};

TEST_F(CollectorBeside, IsRunIfItIsTheUsers) {
  EXPECT_EQ(Shipped().Run().outcome(), -SIGSEGV);
  EXPECT_TRUE(HasRun());
}

TEST_F(CollectorBeside, IsNotRunIfOthersMayWriteIt) {
  fs::permissions(collector(), fs::perms(0757));
  ExpectRefused("may be changed by others");
}

TEST_F(CollectorBeside, IsNotRunIfOthersMayReplaceIt) {
  fs::permissions(shipped_, fs::perms(0757));
  ExpectRefused("lies in a folder that others may change");
}

// The program may run for months.
TEST_F(CollectorBeside, IsLookedAtAgainBeforeItIsRun) {
  const Ran ran = Named().With("OPEN_BEFORE_FAILING", collector()).Run();
  EXPECT_FALSE(HasRun());
  EXPECT_THAT(ran.errors(), HasSubstr("is not run: it may be changed by others"));
}

// What start-up found is sealed then, and cannot be changed.
TEST_F(CollectorBeside, IsLookedAtAgainForAReportOfAProgramThatGoesOn) {
  const Ran ran = Program::Failing("report")
                      .At(program())
                      .With("RECRASH_COLLECTOR", collector())
                      .With("OPEN_BEFORE_FAILING", collector())
                      .Run();
  EXPECT_FALSE(HasRun());
  EXPECT_EQ(ran.outcome(), 7);
  EXPECT_THAT(ran.errors(), HasSubstr("is not run: it may be changed by others"));
  EXPECT_EQ(ran.OnlyReport(".rcraw").failure.reason, "totals disagree");
}

class CollectorOfOthers : public CollectorBeside {
 protected:
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "only root can become another user";
  }
  // Run by the other user, who has a folder for reports.
  Program ByOther(Program program) {
    return program.With("RECRASH_DIR", Folder("reports", 0700, kOther)).After([] {
      if (setresgid(kOther, kOther, kOther) != 0 || setresuid(kOther, kOther, kOther) != 0) _exit(124);
    });
  }
};

TEST_F(CollectorOfOthers, IsNotRun) {
  ASSERT_EQ(chown(collector().c_str(), kOther, kOther), 0);
  ExpectRefused("belongs to another user");
}

TEST_F(CollectorOfOthers, IsNotRunFromTheirFolder) {
  ASSERT_EQ(chown(shipped_.c_str(), kOther, kOther), 0);
  ExpectRefused("lies in a folder that others may change");
}

TEST_F(CollectorOfOthers, IsRunIfItIsRoots) {
  ASSERT_EQ(chmod(out_.c_str(), 0777), 0);
  EXPECT_EQ(ByOther(Shipped()).Run().outcome(), -SIGSEGV);
  EXPECT_TRUE(HasRun());
}

TEST_F(CollectorOfOthers, IsRunIfItIsThoseOfTheUserWhoRunsIt) {
  for (const std::string& path : {shipped_, out_, program(), collector()})
    ASSERT_EQ(chown(path.c_str(), kOther, kOther), 0);
  EXPECT_EQ(ByOther(Shipped()).Run().outcome(), -SIGSEGV);
  EXPECT_TRUE(HasRun());
}

// A set-user-id program leaves no report, whatever its caller's environment names.
TEST_F(CollectorOfOthers, IsNotRunByASetUserIdProgram) {
  ASSERT_EQ(chmod(program().c_str(), 04755), 0);
  ASSERT_EQ(chmod(out_.c_str(), 0777), 0);
  const Ran ran = ByOther(Named()).Run();
  EXPECT_EQ(ran.outcome(), -SIGSEGV);
  EXPECT_FALSE(HasRun());
  EXPECT_EQ(ran.errors(), "");
  EXPECT_TRUE(fs::is_empty(folder_ / "reports"));
}

}  // namespace
}  // namespace recrash
