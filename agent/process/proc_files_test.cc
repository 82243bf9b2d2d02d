#include "agent/process/proc_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
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
