#include "agent/process/memory_left.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/base/testing_files.h"

namespace recrash {
namespace {

namespace fs = std::filesystem;

// The files of a kernel, below a folder.
class Kernel {
 public:
  Kernel& File(const std::string& path, const std::string& text) {
    fs::create_directories((folder_.path() + path).substr(0, (folder_.path() + path).rfind('/')));
    std::ofstream(folder_.path() + path) << text;
    return *this;
  }
  uint64_t MiBLeft() const { return MemoryLeft(folder_.path()) >> 20; }

 private:
  TemporaryDirectory folder_;
};

std::string MiB(uint64_t count) { return std::to_string(count << 20) + "\n"; }

TEST(MemoryLeft, IsWhatTheMachineHas) {
  EXPECT_EQ(Kernel().File("/proc/meminfo", "MemTotal: 9\nMemAvailable:   204800 kB\n").MiBLeft(), 200u);
  EXPECT_LT(MemoryLeft(), UINT64_MAX);
}

TEST(MemoryLeft, IsWhatTheGroupAndThoseAboveItLeave) {
  Kernel kernel;
  kernel.File("/proc/self/cgroup", "0::/outer/inner\n")
      .File("/sys/fs/cgroup/outer/inner/memory.max", "max\n")
      .File("/sys/fs/cgroup/outer/inner/memory.current", MiB(90));
  EXPECT_EQ(MemoryLeft() >> 60, 0u);
  kernel.File("/sys/fs/cgroup/outer/memory.max", MiB(120)).File("/sys/fs/cgroup/outer/memory.current", MiB(100));
  EXPECT_EQ(kernel.MiBLeft(), 20u);
  kernel.File("/sys/fs/cgroup/outer/inner/memory.max", MiB(95));
  EXPECT_EQ(kernel.MiBLeft(), 5u);
}

TEST(MemoryLeft, CountsPagesOfFilesAsFree) {
  Kernel kernel;
  kernel.File("/proc/self/cgroup", "4:memory:/docker/abc\n0::/\n")
      .File("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", MiB(120))
      .File("/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", MiB(119))
      .File("/sys/fs/cgroup/memory/docker/abc/memory.stat", "cache 1\ntotal_inactive_file " + MiB(30));
  EXPECT_EQ(kernel.MiBLeft(), 31u);
}

// The path is that of the machine, but the folder that of the container.
TEST(MemoryLeft, InAContainerIsThatOfTheRoot) {
  Kernel kernel;
  kernel.File("/proc/self/cgroup", "4:memory:/docker/abc\n")
      .File("/sys/fs/cgroup/memory/memory.limit_in_bytes", MiB(120))
      .File("/sys/fs/cgroup/memory/memory.usage_in_bytes", MiB(100));
  EXPECT_EQ(kernel.MiBLeft(), 20u);
}

}  // namespace
}  // namespace recrash
