#include "agent/process/proc_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace recrash {
namespace {

// /proc/PID/stat counts in hundredths of a second: most crashes have used none.
TEST(CpuTime, IsFinerThanATick) {
  const uint64_t used = CpuTime(getpid());
  EXPECT_GT(used, 0u);
  EXPECT_NE(used % 10'000'000, 0u);
  EXPECT_EQ(CpuTime(999999999), 0u);
}

TEST(AuxiliaryValue, IsTheKernels) {
  EXPECT_EQ(AuxiliaryValue(getpid(), AT_PAGESZ), getauxval(AT_PAGESZ));
  EXPECT_EQ(AuxiliaryValue(getpid(), AT_ENTRY), getauxval(AT_ENTRY));
  EXPECT_EQ(AuxiliaryValue(getpid(), 9999), 0u);
  EXPECT_EQ(AuxiliaryValue(999999999, AT_ENTRY), 0u);
}

TEST(Descendant, IsWhatAProcessHasStarted) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) pause();
    _exit(write(ends[1], &grandchild, sizeof grandchild) == sizeof grandchild && waitpid(grandchild, nullptr, 0) < 0);
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ends[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  EXPECT_TRUE(IsDescendant(child, getpid()));
  EXPECT_TRUE(IsDescendant(grandchild, getpid()));
  EXPECT_FALSE(IsDescendant(getpid(), getpid()));
  EXPECT_FALSE(IsDescendant(getppid(), getpid()));
  EXPECT_FALSE(IsDescendant(child, grandchild));
  EXPECT_FALSE(IsDescendant(999999999, getpid()));
  kill(grandchild, SIGKILL);
  waitpid(child, nullptr, 0);
  for (const int end : ends) close(end);
}

TEST(FdInfo, GivesPositionAndFlags) {
  OpenFile file;
  ParseFdInfo("pos:\t1234\nflags:\t0100002\nmnt_id:\t12\n", &file);
  EXPECT_EQ(file.offset, 1234u);
  EXPECT_EQ(file.flags, 0100002);
  ParseFdInfo("nothing of the kind", &file);
  EXPECT_EQ(file.offset, 0u);
}

TEST(OpenFiles, AreThoseOfThisProcess) {
  const int descriptor = open("/proc/self/exe", O_RDONLY);
  lseek(descriptor, 77, SEEK_SET);
  const std::vector<OpenFile> files = ReadOpenFiles(getpid());
  close(descriptor);
  const auto file = std::ranges::find(files, descriptor, &OpenFile::descriptor);
  ASSERT_NE(file, files.end());
  EXPECT_EQ(file->offset, 77u);
  EXPECT_EQ(file->path, ReadProcLink(getpid(), "exe"));
  EXPECT_GT(file->size, 77u);
}

}  // namespace
}  // namespace recrash
