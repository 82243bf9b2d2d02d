// What is shown beside the failing stack, of programs that crashed.
#include "testgen/symbols/surroundings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testgen/symbols/dwarf/source_checksum.h"
#include "testgen/symbols/files/md5.h"
#include "testgen/symbols/testing_crashed_process.h"

namespace recrash {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kProgram[] = R"(#include <csignal>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <vector>
namespace app {
struct Error : std::exception {
  int code = 7;
  std::vector<std::string> path{"a", "b"};
};
struct Queue { std::mutex mutex_; pthread_mutex_t plain_ = PTHREAD_MUTEX_INITIALIZER; int size = 0; };
}
__attribute__((noinline)) int Push(app::Queue* queue) {
  queue->size = 1;
  return *(volatile int*)8;  // fails
}
int main(int argc, char** argv) {
  app::Queue queue;
  queue.mutex_.lock();
  if (argc > 1) {
    raise(SIGUSR2);
    throw app::Error();
  }
  return Push(&queue);
}
)";

class Around : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { fixture_ = new Fixture(kProgram, "-O1 -g -std=c++17 -w"); }
  static void TearDownTestSuite() { delete fixture_; }
  static Fixture* fixture_;
};

Fixture* Around::fixture_ = nullptr;

TEST_F(Around, TheSourceThatWasCompiled) {
  // Compiled here: a program that was compiled once for all tests has the path of the first of them.
  const std::string words = RECRASH_TEST_CXX;
  fixture_->Run(words.substr(words.rfind(' ') + 1) + " -O1 -g -std=c++17 -w program.cc -o program");
  const Report report = fixture_->Crash();
  const auto source = MustRead(report).around.source;
  ASSERT_TRUE(source);
  EXPECT_EQ(source->first, 13u);
  EXPECT_EQ(source->failing, 16u);
  EXPECT_THAT(source->lines, ElementsAre("}", "__attribute__((noinline)) int Push(app::Queue* queue) {",
                                         "  queue->size = 1;", "  return *(volatile int*)8;  // fails", "}",
                                         "int main(int argc, char** argv) {", "  app::Queue queue;"));
  // Another text at that path is not what failed.
  fixture_->Write("program.cc", std::string(kProgram) + "\n");
  EXPECT_FALSE(MustRead(report).around.source);
  fixture_->Write("program.cc", kProgram);
}

TEST_F(Around, TheLockedMutex) {
  const Report report = fixture_->Crash();
  EXPECT_THAT(MustRead(report).around.locks, ElementsAre("app::Queue::mutex_ is held by the failing thread"));
  const Backtrace backtrace = MustRead(report);
  EXPECT_EQ(
      ParameterOf(FrameOf(backtrace, "Push("), "queue").rendered,
      "app::Queue {mutex_ = locked by thread " + std::to_string(report.process.pid) + ", plain_ = unlocked, size = 1}");
  // Of a thread that is not there, the mutex is no mutex.
  Report other = report;
  other.threads[0].id = 1;
  EXPECT_THAT(MustRead(other).around.locks, IsEmpty());
}

TEST_F(Around, TheThrownObject) {
  Report report = fixture_->CrashWithThrow({"throw"});
  report.failure.kind = FailureKind::kException;
  report.failure.exception_type = "N3app5ErrorE";
  const auto thrown = MustRead(report).around.thrown;
  ASSERT_TRUE(thrown);
  EXPECT_EQ(thrown->line, "app::Error {code = 7, path = of 2 {\"a\", \"b\"}}");
  // The registers are those of a throw of another class.
  report.failure.exception_type = "N3app5OtherE";
  EXPECT_FALSE(MustRead(report).around.thrown);
}

TEST(OtherThreads, AreShownAndWhatTheyWaitFor) {
  const Fixture fixture(R"(
#include <pthread.h>
#include <unistd.h>
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) int Work() { pthread_mutex_lock(&mutex); return 1; }
void* Run(void*) { return (void*)(long)(Work() + 1); }
int main() {
  pthread_mutex_lock(&mutex);
  pthread_t thread;
  pthread_create(&thread, nullptr, Run, nullptr);
  usleep(300000);
  return *(volatile int*)8;
}
)",
                        "-O1 -g -w -pthread");
  const Report report = fixture.Crash();
  const Surroundings around = MustRead(report).around;
  ASSERT_EQ(report.threads.size(), 2u);
  ASSERT_EQ(around.threads.size(), 1u);
  std::vector<std::string> own;
  for (const ThreadTrace::Call& call : around.threads[0].calls)
    if (call.own) own.push_back(call.function);
  EXPECT_THAT(own, ElementsAre("Work()", "Run(void*)"));
  ASSERT_EQ(around.locks.size(), 1u);
  EXPECT_TRUE(
      around.locks[0].starts_with("thread " + std::to_string(around.threads[0].id) + " waits for the mutex at 0x"))
      << around.locks[0];
  EXPECT_TRUE(around.locks[0].ends_with(", which the failing thread holds")) << around.locks[0];
}

TEST(ExcerptOf, EndsWithTheText) {
  const auto last = ExcerptOf("a\nb\nc", 3);
  ASSERT_TRUE(last);
  EXPECT_THAT(last->lines, ElementsAre("a", "b", "c"));
  EXPECT_FALSE(ExcerptOf("a\nb\nc\n", 4));
  EXPECT_FALSE(ExcerptOf("a\n", 0));
  EXPECT_FALSE(ExcerptOf("", 1));
}

TEST(Md5, OfTheTextsOfItsDefinition) {
  const auto hex = [](const std::array<uint8_t, 16>& sum) {
    std::string text;
    for (const uint8_t byte : sum) text += "0123456789abcdef"[byte >> 4], text += "0123456789abcdef"[byte & 15];
    return text;
  };
  EXPECT_EQ(hex(Md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex(Md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hex(Md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890")),
            "57edf4a22be3c955ac49da2e2107b67a");
}

// A damaged table gives no checksum, at whatever byte it ends.
TEST(ChecksumsOf, DamagedTables) {
  std::vector<uint8_t> table = {60, 0, 0, 0, 5, 0, 8, 0, 40, 0, 0, 0, 1, 1, 1, 0xfb, 14, 2, 0, 1, 1, 0x08, 1, 'd', 0};
  table.insert(table.end(), {2, 1, 0x08, 5, 0x1e, 1, 'f', 0});
  for (uint8_t i = 0; i < 16; ++i) table.push_back(i);
  const auto whole = ChecksumsOf(table);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0][15], 15);
  for (size_t size = 0; size < table.size(); ++size)
    EXPECT_THAT(ChecksumsOf(std::span(table).first(size)), IsEmpty()) << size;
}

}  // namespace
}  // namespace recrash
