// Functions that read files: the report holds these, or it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "testgen/verify/testing_replayed_program.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// `read` is the body of int Read(const char* name, int file), which has the input's name and a descriptor at byte 4 of
// it. The input is "HEADbody"; Crash() ends the program.
std::string Reader(const std::string& read) {
  return R"(
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
namespace fs = std::filesystem;
std::string start;   // the folder at the start
const char* mapped;  // the input
__attribute__((noinline)) int Crash(const int* at) { return *at + 1; }
__attribute__((noinline)) int Read(const char* name, int file) {)" +
         read + R"(
}
int main(int count, char** words) {
  start = fs::current_path();
  const int file = open(words[1], O_RDONLY);
  lseek(file, 4, SEEK_SET);
  mapped = static_cast<const char*>(mmap(nullptr, 8, PROT_READ, MAP_SHARED, file, 0));
  return Read(words[1], file) + 1;
}
)";
}

// Has crashed with the input there; then the input was taken away.
class Crashed : public ReplayedProgram {
 public:
  explicit Crashed(const std::string& read, const std::string& options = "files=embed",
                   const std::string& flags = "-O2 -g", const std::string& before = "printf HEADbody > input")
      : ReplayedProgram(Reader(read), flags, {"input"}, "references", options, before) {
    fs::remove(fixture().path("input"));
  }

  std::string ReadFile(const std::string& name) const {
    std::ifstream file(fixture().path(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
};

void ExpectServed(const ReplayedProgram& program) {
  const FrameVerdict verdict = program.Verify("Read");
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
  EXPECT_TRUE(verdict.self_contained()) << program.text();
}

constexpr char kStream[] = R"(
  std::ifstream in(name);
  std::string word;
  in >> word;
  return Crash(word == "HEADbody" ? nullptr : &file);)";

// Reads on from byte 4, and goes back there.
constexpr char kPosition[] = R"(
  char word[5] = "";
  if (read(file, word, 4) != 4 || lseek(file, -4, SEEK_CUR) != 4) return 1;
  return Crash(std::strcmp(word, "body") == 0 ? nullptr : &file);)";

constexpr char kMapped[] = "return Crash(std::memcmp(mapped, \"HEADbody\", 8) == 0 ? nullptr : &file);";

TEST(Inputs, AreServedUnderTheirNames) {
  ExpectServed(Crashed(kStream));
  ExpectServed(Crashed(kStream, "files=embed", "-O2 -g -static-libstdc++ -static-libgcc"));
  ExpectServed(Crashed(R"(
  FILE* in = std::fopen(name, "r");
  char word[9] = "";
  if (!in || std::fread(word, 1, 8, in) != 8) return 1;
  return Crash(std::strcmp(word, "HEADbody") == 0 ? nullptr : &file);)"));
}

TEST(Inputs, AreServedUnderTheirDescriptorsAtTheirOffsets) { ExpectServed(Crashed(kPosition)); }

TEST(Inputs, AreServedWhereTheyWereMapped) {
  ExpectServed(Crashed(kMapped));
  ExpectServed(Crashed(R"(
  const int again = open(name, O_RDONLY);
  auto* text = static_cast<const char*>(mmap(nullptr, 8, PROT_READ, MAP_PRIVATE, again, 0));
  if (text == MAP_FAILED) return 1;
  return Crash(std::memcmp(text, "HEADbody", 8) == 0 ? nullptr : &file);)"));
}

// The exit status says which of them.
TEST(Inputs, AreServedByAllThatTakesAPath) {
  ExpectServed(Crashed(R"(
  struct stat status;
  char text[9] = "";
  const std::string absolute = start + "/" + name;
  if (stat(name, &status) != 0 || status.st_size != 8 || !S_ISREG(status.st_mode)) std::exit(1);
  if (lstat(name, &status) != 0 || !S_ISREG(status.st_mode)) std::exit(2);
  if (fstatat(AT_FDCWD, absolute.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || status.st_size != 8) std::exit(3);
  if (access(name, R_OK) != 0 || faccessat(AT_FDCWD, name, R_OK, 0) != 0) std::exit(4);
  if (!fs::is_regular_file(name) || fs::file_size(absolute) != 8) std::exit(5);
  char* real = realpath(name, nullptr);
  if (!real || real != absolute) std::exit(6);
  if (fs::canonical(name) != absolute) std::exit(7);
  if (open((".././" + fs::path(start).filename().string() + "//" + name).c_str(), O_RDONLY) < 0) std::exit(8);
  if (open((fs::current_path() / name).c_str(), O_RDONLY) < 0) std::exit(9);
  const int folder = open(".", O_RDONLY | O_DIRECTORY);
  const int again = openat(folder, name, O_RDONLY | O_CLOEXEC);
  if (again < 0 || read(again, text, 8) != 8 || std::strcmp(text, "HEADbody") != 0) std::exit(10);
  if (freopen(name, "r", stdin) == nullptr || std::getchar() != 'H') std::exit(11);
  if (readlink(name, text, 8) != -1 || errno != EINVAL) std::exit(12);
  if (chdir("/") != 0 || open(name, O_RDONLY) >= 0 || open(absolute.c_str(), O_RDONLY) < 0) std::exit(13);
  if (chdir(start.c_str()) != 0 || open(name, O_RDONLY) < 0) std::exit(14);
  if (open("another", O_RDONLY) >= 0 || errno != ENOENT) std::exit(15);
  return Crash(nullptr);)"));
}

// Each has a copy of its own, gone with the replay; the files that have the names now are not touched.
TEST(Inputs, ThatAreWrittenToAreCopies) {
  for (const char* open :
       {"FILE* both = std::fopen(name, \"r+\");", "FILE* both = fdopen(open(name, O_RDWR), \"r+\");"}) {
    Crashed program(std::string(open) + R"(
  static bool again = false;
  char word[9] = "";
  if (!both || std::fputs("head", both) < 0 || std::fseek(both, 0, SEEK_SET) != 0) std::exit(1);
  if (std::fread(word, 1, 8, both) != 8 || std::strcmp(word, "headbody") != 0) std::exit(2);
  if (again) {
    std::ofstream(name) << "lost";
    std::ofstream(start + "/" + name) << "lost";
    creat("made", 0600);
    std::ifstream in(name);
    if (in.get() != 'h') std::exit(3);
  }
  again = true;
  return Crash(nullptr);)");
    program.fixture().Write("input", "of today");
    ExpectServed(program);
    EXPECT_EQ(program.ReadFile("input"), "of today");
    EXPECT_FALSE(fs::exists(program.fixture().path("made")));
  }
}

// A descriptor for both: what was written before the crash can be read, and what is written now goes nowhere.
TEST(Inputs, ThatWereOpenForBothAreCopies) {
  ExpectServed(Crashed(R"(
  static int both = -1;
  char word[5] = "";
  if (both < 0) {
    both = open("scratch", O_RDWR | O_CREAT | O_TRUNC, 0600);
    unlink("scratch");
    if (write(both, "text", 4) != 4) return 1;
  }
  if (pread(both, word, 4, 0) != 4 || pwrite(both, "more", 4, 4) != 4) return 2;
  return Crash(std::strcmp(word, "text") == 0 ? nullptr : &file);)"));
}

TEST(Inputs, OfNamesAloneAreMissed) {
  const Crashed program(kStream, "files=names");
  const FrameVerdict gone = program.Verify("Read");
  EXPECT_EQ(gone.verdict, Verdict::kReturned) << program.text();
  EXPECT_THAT(gone.note, HasSubstr("/input is missing"));
  const FrameVerdict inner = program.Verify("Crash");
  EXPECT_EQ(inner.verdict, Verdict::kReproduced) << program.text();
  EXPECT_TRUE(inner.self_contained());
}

TEST(Inputs, OfNamesAloneAreTheFilesOfToday) {
  for (const char* read : {kStream, kPosition, kMapped}) {
    Crashed program(read, "files=names");
    program.fixture().Write("input", "HEADbody");
    FrameVerdict verdict = program.Verify("Read");
    EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
    EXPECT_FALSE(verdict.self_contained()) << program.text();
    EXPECT_THAT(verdict.note, Not(HasSubstr("input")));
    program.fixture().Write("input", "HEADbod2");
    verdict = program.Verify("Read");
    EXPECT_EQ(verdict.verdict, Verdict::kReturned) << program.text();
    EXPECT_THAT(verdict.note, HasSubstr("/input has changed since the crash"));
  }
}

// What is held is that of the crash, whatever has its name now.
TEST(Inputs, ThatAreHeldComeBeforeTheFilesOfToday) {
  for (const char* read : {kStream, kPosition, kMapped}) {
    Crashed program(read);
    program.fixture().Write("input", "HEADbod2");
    ExpectServed(program);
  }
}

// Neither open nor named: sealed the folder is empty, unsealed the file is there.
TEST(Inputs, OfTheFolderAloneAreNotSelfContained) {
  const Crashed program(R"(
  std::string word;
  std::ifstream("settings") >> word;
  return Crash(word.empty() ? &file : nullptr);)",
                        "files=embed", "-O2 -g", "printf HEADbody > input && printf on > settings");
  FrameVerdict verdict = program.Verify("Read");
  EXPECT_EQ(verdict.verdict, Verdict::kReproduced) << program.text();
  EXPECT_FALSE(verdict.self_contained()) << program.text();
  fs::remove(program.fixture().path("settings"));
  EXPECT_EQ(program.Verify("Read").verdict, Verdict::kReturned) << program.text();
}

// The folder of the crash may be gone; then too nothing depends on where the user stands.
TEST(Inputs, AreNotSoughtWhereTheUserStands) {
  const Crashed program(R"(
  return Crash(fs::exists("settings") ? nullptr : &file);)",
                        "files=embed", "-O2 -g", "printf HEADbody > input && printf on > settings");
  const fs::path before = fs::current_path();
  const TemporaryDirectory here;
  fs::current_path(here.path());
  std::ofstream("settings") << "on";
  EXPECT_TRUE(program.Verify("Read").verdict == Verdict::kReproduced) << program.text();
  fs::remove(program.fixture().path("settings"));
  EXPECT_EQ(program.Verify("Read").verdict, Verdict::kReturned) << program.text();
  Report& report = const_cast<Crashed&>(program).report();
  report.process.working_directory += "/gone";
  EXPECT_EQ(program.Verify("Read").verdict, Verdict::kReturned) << program.text();
  fs::current_path(before);
}

// Whatever a file is called, replays read its content and write none.
TEST(Inputs, MayHaveHostileNames) {
  Crashed program(kStream);
  for (const char* name : {"a\n\x1b[2Jb", "../recrash-input", "%s%n", "sub/../../recrash-input"}) {
    for (Input& input : program.report().inputs) input.names = {name, "input"};
    ExpectServed(program);
    EXPECT_FALSE(fs::exists(program.fixture().path(name)));
  }
}

// A report may say that it holds any number of files, under any names and descriptors.
TEST(Inputs, ThatAreMadeUpEndNoReplay) {
  Crashed program(kStream);
  Report& report = program.report();
  const Input made_up{
      {"", "/", ".", std::string(10000, '/'), std::string(100000, 'x')}, "", 3, "", InputContent::kHeld, {1, 2, 3}};
  report.inputs.resize(2000, made_up);
  const OpenFile nowhere{.descriptor = -7, .flags = -1, .offset = UINT64_MAX, .path = "/", .input = 1999};
  report.files.resize(300, nowhere);
  ExpectServed(program);
  report.process.working_directory = "relative/../..";
  EXPECT_EQ(program.Verify("Crash").verdict, Verdict::kReproduced) << program.text();
}

}  // namespace
}  // namespace recrash
