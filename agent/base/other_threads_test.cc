#include "agent/base/signal_safe/other_threads.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <thread>

namespace recrash::signal_safe {
namespace {

TEST(OtherThreads, AreCounted) {
  EXPECT_FALSE(HasOtherThreads());
  std::binary_semaphore end(0);
  std::thread other([&] { end.acquire(); });
  EXPECT_TRUE(HasOtherThreads());
  end.release();
  other.join();
}

// Recorder and patcher once took this for opposite things.
TEST(OtherThreads, AreThereWhereNobodyCanTell) { EXPECT_TRUE(HasOtherThreads("/proc/self/no-such-folder")); }

}  // namespace
}  // namespace recrash::signal_safe
