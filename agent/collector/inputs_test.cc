// Which files are inputs of a process (this one), and what is kept of each.
#include "agent/collector/inputs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/process/proc_files.h"
#include "shadowstack/additions.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kHashOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

// Stands in an empty folder, as the process whose command line is given.
class Inputs : public testing::Test {
 protected:
  Inputs() {
    std::string folder = testing::TempDir() + "recrash-inputs-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) ADD_FAILURE() << folder;
    folder_ = fs::canonical(folder);
    fs::current_path(folder_);
  }
  ~Inputs() override {
    for (const int descriptor : descriptors_) close(descriptor);
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

  void Write(const std::string& name, const std::string& text) { std::ofstream(name) << text; }
  void WriteSize(const std::string& name, uint64_t size) {
    Write(name, "");
    fs::resize_file(name, size);
  }
  int Open(const std::string& name, int flags) {
    descriptors_.push_back(open(name.c_str(), flags, 0600));
    return descriptors_.back();
  }

  std::vector<Input> Read(std::vector<std::string> arguments, bool embed = true) {
    report_ = {};
    report_.process.pid = getpid();
    report_.process.program = ReadProcLink(getpid(), "exe");
    report_.process.working_directory = folder_;
    report_.process.arguments = std::move(arguments);
    report_.process.arguments.insert(report_.process.arguments.begin(), "program");
    for (const OpenFile& file : ReadOpenFiles(getpid()))
      if (std::ranges::find(descriptors_, file.descriptor) != descriptors_.end()) report_.files.push_back(file);
    ReadInputs(embed, attached_, &report_);
    return report_.inputs;
  }

  std::string folder_;
  Report report_;
  std::vector<std::string> attached_;

 private:
  fs::path before_ = fs::current_path();
  std::vector<int> descriptors_;
};

std::string Text(const Input& input) { return std::string(input.bytes.begin(), input.bytes.end()); }

TEST(NamesIn, AreTheWordAndWhatFollowsTheSign) {
  EXPECT_THAT(NamesIn("a b"), ElementsAre("a b"));
  EXPECT_THAT(NamesIn("--in=a=b"), ElementsAre("--in=a=b", "a=b"));
  EXPECT_THAT(NamesIn("--in="), ElementsAre("--in="));
  EXPECT_THAT(NamesIn(""), IsEmpty());
  EXPECT_THAT(NamesIn(std::string(100000, 'x')), IsEmpty());
}

TEST_F(Inputs, AreThoseThatTheCommandLineNames) {
  Write("in.txt", "abc");
  fs::create_directory("folder");
  const std::vector<Input> inputs =
      Read({"in.txt", "--file=./in.txt", folder_ + "/in.txt", "none", "folder", "/dev/null", "in.txt"});
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_THAT(inputs[0].names, ElementsAre("in.txt", "./in.txt", folder_ + "/in.txt"));
  EXPECT_EQ(inputs[0].path, folder_ + "/in.txt");
  EXPECT_EQ(inputs[0].size, 3u);
  EXPECT_EQ(inputs[0].sha256, kHashOfAbc);
  EXPECT_EQ(Text(inputs[0]), "abc");
}

TEST_F(Inputs, AreThoseThatAreOpenUnlessForWritingAlone) {
  Write("read", "abc");
  Write("both", "12");
  Write("written", "log");
  Open("read", O_RDONLY);
  Open("both", O_RDWR);
  Open("written", O_WRONLY);
  Open("/dev/zero", O_RDONLY);
  Open("read", O_RDONLY);
  const std::vector<Input> inputs = Read({});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(Text(inputs[0]), "abc");
  EXPECT_THAT(inputs[0].names, IsEmpty());
  EXPECT_EQ(Text(inputs[1]), "12");
  std::vector<int> of_files;
  for (const OpenFile& file : report_.files) of_files.push_back(file.input);
  EXPECT_THAT(of_files, ElementsAre(0, 1, -1, -1, 0));
}

// A file that was removed is still what the descriptor reads from; another that took its name is not.
TEST_F(Inputs, AreReadThroughTheirDescriptors) {
  Write("gone", "abc");
  Open("gone", O_RDONLY);
  fs::remove("gone");
  Write("gone", "another");
  const std::vector<Input> inputs = Read({"gone"});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(Text(inputs[0]), "another");
  EXPECT_EQ(Text(inputs[1]), "abc");
  EXPECT_EQ(inputs[1].path, folder_ + "/gone (deleted)");
  EXPECT_EQ(report_.files[0].input, 1);
}

TEST_F(Inputs, OfNamesAloneHaveNoContent) {
  Write("in", "abc");
  const std::vector<Input> inputs = Read({"in"}, false);
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].content, InputContent::kNotAsked);
  EXPECT_THAT(inputs[0].bytes, IsEmpty());
  EXPECT_EQ(inputs[0].size, 3u);
  EXPECT_EQ(inputs[0].sha256, kHashOfAbc);
}

TEST_F(Inputs, OfMoreThanFourMebibytesAreHashedOnly) {
  WriteSize("largest", 4 << 20);
  WriteSize("larger", (4 << 20) + 1);
  const std::vector<Input> inputs = Read({"larger", "largest"});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].content, InputContent::kTooLarge);
  EXPECT_EQ(inputs[0].size, (4u << 20) + 1);
  EXPECT_THAT(inputs[0].bytes, IsEmpty());
  EXPECT_EQ(inputs[0].sha256.size(), 64u);
  EXPECT_TRUE(inputs[1].held());
  EXPECT_EQ(inputs[1].bytes.size(), 4u << 20);
}

// The fifth does not fit; a small one behind it does.
TEST_F(Inputs, AreHeldUpToSixteenMebibytes) {
  for (const char* name : {"a", "b", "c", "d", "e"}) WriteSize(name, (4 << 20) - 1);
  Write("f", "1234");
  Write("g", "5");
  const std::vector<Input> inputs = Read({"a", "b", "c", "d", "e", "f", "g"});
  ASSERT_EQ(inputs.size(), 7u);
  for (size_t i : {0, 1, 2, 3, 5}) EXPECT_TRUE(inputs[i].held()) << i;
  for (size_t i : {4, 6}) {
    EXPECT_EQ(inputs[i].content, InputContent::kNoRoom) << i;
    EXPECT_EQ(inputs[i].sha256.size(), 64u);
  }
}

// A terabyte is not read while the program waits.
TEST_F(Inputs, ThatAreHugeAreNotHashed) {
  WriteSize("huge", uint64_t{1} << 40);
  Write("in", "abc");
  const std::vector<Input> inputs = Read({"huge", "in"});
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].size, uint64_t{1} << 40);
  EXPECT_EQ(inputs[0].sha256, "");
  EXPECT_EQ(Text(inputs[1]), "abc");
}

TEST_F(Inputs, AreBoundedInNumber) {
  std::vector<std::string> words;
  for (int i = 0; i < 300; ++i) {
    words.push_back("in" + std::to_string(i));
    Write(words.back(), "abc");
  }
  EXPECT_EQ(Read(words).size(), 256u);
  EXPECT_THAT(report_.losses, ElementsAre(HasSubstr("more than 256 input files")));
}

// Opening these would wait, or is nobody's input.
TEST_F(Inputs, AreNeitherPipesNorTheProgram) {
  ASSERT_EQ(mkfifo("fifo", 0600), 0);
  fs::create_symlink("/proc/self/maps", "maps");
  EXPECT_THAT(Read({"fifo", "/proc/self/exe", "maps", "/proc/self/status"}), IsEmpty());
  EXPECT_THAT(report_.losses, IsEmpty());
}

TEST_F(Inputs, KeepHostileNamesAsTheyAre) {
  const std::string name = "a\n\x1b[2Jb";
  Write(name, "abc");
  const std::vector<Input> inputs = Read({name, "../" + fs::path(folder_).filename().string() + "/" + name});
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].names.size(), 2u);
  EXPECT_EQ(inputs[0].path, folder_ + "/" + name);
}

TEST_F(Inputs, ThatCannotBeReadAreNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  Write("secret", "abc");
  chmod("secret", 0);
  const std::vector<Input> inputs = Read({"secret"});
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].content, InputContent::kUnreadable);
  EXPECT_EQ(inputs[0].path, folder_ + "/secret");
}

class AttachedInputs : public Inputs {
 protected:
  void Attach(const std::string& name) { attached_.push_back(folder_ + "/" + name); }
};

TEST_F(AttachedInputs, AreHeldThoughNobodyAsksForContents) {
  Write("given", "abc");
  Write("attached", "def");
  Attach("attached");
  const std::vector<Input> inputs = Read({"given", "attached"}, /*embed=*/false);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_TRUE(inputs[0].attached);
  EXPECT_EQ(Text(inputs[0]), "def");
  EXPECT_THAT(inputs[0].names, ElementsAre("attached"));
  EXPECT_FALSE(inputs[1].attached);
  EXPECT_FALSE(inputs[1].held());
}

TEST_F(AttachedInputs, HaveALimitEachAndOneOfAll) {
  for (const std::string name : {"a", "b", "c", "d", "e"}) {
    WriteSize(name, abi::kMostAttached);
    Attach(name);
  }
  WriteSize("large", abi::kMostAttached + 1);
  Attach("large");
  EXPECT_EQ(Read({}).size(), 4u);
  EXPECT_THAT(report_.losses, ElementsAre(HasSubstr("/e: with it the attached files would be larger than 4 MiB"),
                                          HasSubstr("/large: larger than 1 MiB")));
  // What is too large to be attached may be held as any other input.
  EXPECT_TRUE(Read({"large"}).back().held());
}

TEST_F(AttachedInputs, AreRegularFiles) {
  ASSERT_EQ(mkfifo("pipe", 0600), 0);
  for (const char* name : {"pipe", "none", "."}) Attach(name);
  attached_.insert(attached_.end(), {"/proc/self/environ", "/dev/null", "//proc/self/../self/environ"});
  EXPECT_THAT(Read({}), IsEmpty());
  EXPECT_EQ(report_.losses.size(), attached_.size());
}

}  // namespace
}  // namespace recrash
